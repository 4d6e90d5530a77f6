package io.snapline.spark.sink

import java.util

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A format of writers. Its tables take the columns that a query has. */
abstract class ExactlyOnceSource(override val shortName: String) extends TableProvider with DataSourceRegister {

  /** Refuses options that cannot be, before anything is written. */
  protected def table(options: CaseInsensitiveStringMap): Table

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType()

  override def supportsExternalMetadata(): Boolean = true

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = table(new CaseInsensitiveStringMap(properties))
}
