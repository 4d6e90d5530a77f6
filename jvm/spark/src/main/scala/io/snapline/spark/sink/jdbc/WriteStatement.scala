package io.snapline.spark.sink.jdbc

import org.apache.spark.sql.types.StructType

import io.snapline.error.InvalidConfiguration

/** The statement that writes a row, with a place for each column. */
private[jdbc] object WriteStatement {

  /** @param there the table's columns */
  def text(settings: JdbcSettings, schema: StructType, there: Seq[String]): String = {
    val columns = schema.fieldNames.toSeq.map(column(settings, there, _))
    val keys = KeyColumns.of(settings, schema).map(key => column(settings, there, key.name))
    val others = columns.diff(keys)
    val insert = s"INSERT INTO ${settings.table} (${list(columns)}) VALUES (${list(columns.map(_ => "?"))})"
    if (!settings.upserts) insert
    else settings.kind match {
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

  private def column(settings: JdbcSettings, there: Seq[String], name: String): String = {
    val found = there.find(_ == name).orElse(there.find(_.equalsIgnoreCase(name)))
    settings.dialect.quoteIdentifier(found.getOrElse(throw new InvalidConfiguration(
      s"The table ${settings.table} has no column $name.",
      s"it has ${there.mkString(", ")}: select those."
    )))
  }

  private def list(parts: Seq[String]): String = parts.mkString(", ")
}
