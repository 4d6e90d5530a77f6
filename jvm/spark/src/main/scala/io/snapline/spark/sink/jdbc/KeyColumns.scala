package io.snapline.spark.sink.jdbc

import java.util.Locale

import org.apache.spark.sql.types.{StructField, StructType}

import io.snapline.error.InvalidConfiguration

/** The columns of a query by which a row replaces the one before. */
private[jdbc] object KeyColumns {

  /** In the order of the option; none for a sink that appends. */
  def of(settings: JdbcSettings, schema: StructType): Seq[StructField] = {
    val found = settings.keys.map(key => key -> column(schema, key))
    val missing = found.collect { case (key, None) => key }
    if (missing.nonEmpty) throw new InvalidConfiguration(
      s"${JdbcSettings.Keys} names ${missing.mkString(", ")}, which is no column of the query.",
      s"name some of ${schema.fieldNames.mkString(", ")}."
    )
    found.flatMap { case (_, field) => field }.distinct
  }

  private def column(schema: StructType, name: String): Option[StructField] =
    schema.find(_.name == name).orElse(schema.find(_.name.equalsIgnoreCase(name)))

  /** Refuses a table that has no unique key of exactly these columns. With a key of fewer columns, a row would change
    * one that has other keys.
    *
    * @param unique
    *   the columns of each unique key that the table has
    */
  def check(settings: JdbcSettings, schema: StructType, unique: Seq[Set[String]]): Unit = {
    val keys = of(settings, schema).map(_.name)
    if (!unique.exists(lower(_) == lower(keys.toSet))) {
      val others = if (unique.isEmpty) "none" else unique.map(_.mkString("(", ", ", ")")).mkString(", ")
      val quoted = keys.map(settings.dialect.quoteIdentifier).mkString(", ")
      throw new InvalidConfiguration(
        s"The table ${settings.table} has no unique index of (${keys.mkString(", ")}); its unique indexes: $others. " +
          s"${settings.kind} would append rows that are to replace others.",
        s"remove rows that came twice, and CREATE UNIQUE INDEX snapline_key ON ${settings.table} ($quoted); or set " +
          s"${JdbcSettings.Keys} to the columns of an index that is there."
      )
    }
  }

  private def lower(names: Set[String]): Set[String] = names.map(_.toLowerCase(Locale.ROOT))
}
