package io.snapline.spark.sink.jdbc

import java.sql.Connection

import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.types.StructType

import io.snapline.error.InvalidConfiguration

/** The statement that writes a row, with a place for each column. */
private[jdbc] object WriteStatement {

  def text(settings: JdbcSettings, schema: StructType, there: StructType): String = {
    val columns = schema.fieldNames.toSeq.map(column(settings, there, _))
    val keys = settings.keys.map(column(settings, there, _))
    val missing = settings.keys.filterNot(key => schema.fieldNames.exists(_.equalsIgnoreCase(key)))
    if (missing.nonEmpty) throw new InvalidConfiguration(
      s"${JdbcSettings.Keys} names ${missing.mkString(", ")}, which is no column of the query.",
      s"name some of ${schema.fieldNames.mkString(", ")}."
    )
    val others = columns.diff(keys)
    val insert = s"INSERT INTO ${settings.table} (${list(columns)}) VALUES (${list(columns.map(_ => "?"))})"
    if (!settings.upserts) insert
    else JdbcSettings.kindOf(settings.url) match {
      case "postgresql" | "sqlite" =>
        val action =
          if (others.isEmpty) "NOTHING" else s"UPDATE SET ${list(others.map(name => s"$name = excluded.$name"))}"
        s"$insert ON CONFLICT (${list(keys)}) DO $action"
      case "mysql" | "mariadb" =>
        val set = if (others.isEmpty) keys.take(1) else others
        s"$insert ON DUPLICATE KEY UPDATE ${list(set.map(name => s"$name = VALUES($name)"))}"
      case "h2" =>
        s"MERGE INTO ${settings.table} (${list(columns)}) KEY (${list(keys)}) VALUES (${list(columns.map(_ => "?"))})"
      case other => throw new InvalidConfiguration(
          s"${JdbcSettings.Mode}=${JdbcSettings.Upsert} does not know how $other replaces a row.",
          "write to PostgreSQL, SQLite, MySQL, MariaDB or H2; or append."
        )
    }
  }

  /** A table with the columns of the query; with a unique key, if rows replace others. */
  def createTable(connection: Connection, settings: JdbcSettings, schema: StructType): Unit = {
    JdbcUtils.createTable(connection, settings.table, schema, caseSensitive = false, settings.ofSpark)
    if (settings.upserts) {
      val name = settings.table.replaceAll("[^A-Za-z0-9_]", "_") + "_key"
      val keys = list(settings.keys.map(settings.dialect.quoteIdentifier))
      val statement = connection.createStatement()
      try statement.executeUpdate(s"CREATE UNIQUE INDEX $name ON ${settings.table} ($keys)"): Unit
      finally statement.close()
    }
  }

  private def column(settings: JdbcSettings, there: StructType, name: String): String = {
    val found = there.fieldNames.find(_ == name).orElse(there.fieldNames.find(_.equalsIgnoreCase(name)))
    settings.dialect.quoteIdentifier(found.getOrElse(throw new InvalidConfiguration(
      s"The table ${settings.table} has no column $name.",
      s"it has ${there.fieldNames.mkString(", ")}: select those."
    )))
  }

  private def list(parts: Seq[String]): String = parts.mkString(", ")
}
