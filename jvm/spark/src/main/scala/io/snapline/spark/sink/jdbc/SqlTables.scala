package io.snapline.spark.sink.jdbc

import java.sql.{Connection, DatabaseMetaData, SQLException}

import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.types.{StringType, StructField, StructType, VarcharType}

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

  /** The columns of each unique key of a table, its primary key among them. */
  def uniqueKeys(name: String): Seq[Set[String]] = {
    val (catalog, schema, table) = place(name)
    val found = connection.getMetaData.getIndexInfo(catalog, schema, table, true, true)
    try
      Iterator.continually(found).takeWhile(_.next())
        // SQLite's driver lists the others as well.
        .filter(row => !row.getBoolean("NON_UNIQUE") && row.getShort("TYPE") != DatabaseMetaData.tableIndexStatistic)
        // An expression in an index has no name.
        .map(row => row.getString("INDEX_NAME") -> Option(row.getString("COLUMN_NAME")).getOrElse(""))
        .toList
        .groupMap { case (index, _) => index } { case (_, column) => column }
        .values.map(_.toSet).toSeq
    finally found.close()
  }

  /** Catalog, schema and name as the database has them: the option may have fewer, quotes, or other case. */
  private def place(name: String): (String, String, String) = {
    def orNull(part: String): String = Option(part).filter(_.nonEmpty).orNull
    val statement = connection.prepareStatement(dialect.getSchemaQuery(name))
    try {
      val found = statement.executeQuery().getMetaData
      (orNull(found.getCatalogName(1)), orNull(found.getSchemaName(1)), found.getTableName(1))
    } finally statement.close()
  }

  /** The sink's table with the columns of a query; with a unique key, if rows replace others. All of it is one
    * statement: MySQL commits after each, and would append rows to a table that was left without the key.
    */
  def create(schema: StructType): Unit = {
    val keys = KeyColumns.of(settings, schema)
    val statement = connection.createStatement()
    try {
      val options = settings.ofSpark
      val columns =
        JdbcUtils.schemaString(dialect, indexable(schema, keys), caseSensitive = false, options.createTableColumnTypes)
      val names = keys.map(key => dialect.quoteIdentifier(key.name))
      val unique = if (names.isEmpty) "" else names.mkString(", UNIQUE (", ", ", ")")
      dialect.createTable(statement, settings.table, columns + unique, options)
    } finally statement.close()
  }

  /** MySQL has no index of a text without bounds. */
  private def indexable(schema: StructType, keys: Seq[StructField]): StructType =
    if (!settings.isMySql) schema
    else StructType(schema.map { field =>
      val isText = field.dataType == StringType
      if (isText && keys.contains(field)) field.copy(dataType = VarcharType(SqlTables.LongestKey)) else field
    })
}

private object SqlTables {
  private val LongestKey = 255
}
