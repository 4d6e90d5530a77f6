package io.snapline.spark.sink.jdbc

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.sink.{ExactlyOnceSource, ExactlyOnceTable, SinkTarget}

/** `writeStream.format("snapline-jdbc")`: with the options of Spark's JDBC writer, exactly once. */
class JdbcSink extends ExactlyOnceSource(JdbcSink.Name) {
  override protected def table(options: CaseInsensitiveStringMap): Table = new JdbcTable(JdbcSettings(options))
}

private object JdbcSink {
  val Name = "snapline-jdbc"
}

private final class JdbcTable(settings: JdbcSettings) extends ExactlyOnceTable {
  override def name(): String = s"${JdbcSink.Name} ${settings.table}"

  override protected def defaultName: String = settings.table

  override protected def target(info: LogicalWriteInfo, truncates: Boolean): SinkTarget = {
    if (truncates && !settings.upserts) throw new InvalidConfiguration(
      s"In output mode complete each batch has all rows of the result, and ${settings.table} would get them anew.",
      s"set the option ${JdbcSettings.Mode} to ${JdbcSettings.Upsert}, with ${JdbcSettings.Keys}."
    )
    info.schema.foreach(RowBinder.check)
    new JdbcTarget(settings, info.schema)
  }
}
