package io.snapline.spark.sink.jdbc

import java.util

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.sink.{ExactlyOnceTable, SinkTarget}

/** `writeStream.format("snapline-jdbc")`: with the options of Spark's JDBC writer, exactly once. */
class JdbcSink extends TableProvider with DataSourceRegister {
  override def shortName(): String = JdbcSink.Name

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType()

  override def supportsExternalMetadata(): Boolean = true

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = new JdbcTable(JdbcSettings(new CaseInsensitiveStringMap(properties)))
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
