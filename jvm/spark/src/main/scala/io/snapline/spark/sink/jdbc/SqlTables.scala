package io.snapline.spark.sink.jdbc

import java.sql.{Connection, SQLException}

import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.types.{StringType, StructType, VarcharType}

/** Tables of a database, on a connection of the caller's, who commits. Spark's own helpers go by the URL alone, and
  * take MariaDB and SQLite for databases that they do not know.
  */
private[jdbc] final class SqlTables(settings: JdbcSettings, connection: Connection) {
  private val dialect = settings.dialect

  /** Afterwards the transaction is a new one: PostgreSQL takes nothing more after a table that is not there. */
  def exists(name: String): Boolean =
    try {
      val statement = connection.prepareStatement(dialect.getTableExistsQuery(name))
      try statement.executeQuery(): Unit
      finally statement.close()
      true
    } catch {
      case e: SQLException if dialect.isObjectNotFoundException(e) || isMissingInSqlite(e) => false
    } finally connection.rollback()

  // It has a code for errors of SQL, and none for this one.
  private def isMissingInSqlite(e: SQLException): Boolean =
    settings.kind == "sqlite" && String.valueOf(e.getMessage).contains("no such table")

  def columns(name: String): Seq[String] = {
    val statement = connection.prepareStatement(dialect.getSchemaQuery(name))
    try {
      val found = statement.executeQuery().getMetaData
      (1 to found.getColumnCount).map(found.getColumnLabel)
    } finally statement.close()
  }

  /** The sink's table with the columns of a query; with a unique key, if rows replace others. */
  def create(schema: StructType): Unit = {
    val statement = connection.createStatement()
    try {
      val options = settings.ofSpark
      val columns =
        JdbcUtils.schemaString(dialect, indexable(schema), caseSensitive = false, options.createTableColumnTypes)
      dialect.createTable(statement, settings.table, columns, options)
      if (settings.upserts) {
        val name = settings.table.replaceAll("[^A-Za-z0-9_]", "_") + "_key"
        val keys = settings.keys.map(dialect.quoteIdentifier).mkString(", ")
        statement.executeUpdate(s"CREATE UNIQUE INDEX $name ON ${settings.table} ($keys)"): Unit
      }
    } finally statement.close()
  }

  /** MySQL has no index of a text without bounds. */
  private def indexable(schema: StructType): StructType =
    if (!settings.isMySql) schema
    else StructType(schema.map { field =>
      val isKey = settings.keys.exists(_.equalsIgnoreCase(field.name))
      if (isKey && field.dataType == StringType) field.copy(dataType = VarcharType(SqlTables.LongestKey)) else field
    })
}

private object SqlTables {
  private val LongestKey = 255
}
