package org.apache.spark.sql.execution.python.snapline

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema

import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

/** Spark's own mapping to Arrow. */
object ArrowSchemas {

  // The mapping of a whole schema gives fields of one name new names on this line.
  def of(timeZone: String)(schema: StructType): Schema = new Schema(
    schema.map(field => ArrowUtils.toArrowField(field.name, field.dataType, field.nullable, timeZone)).asJava
  )

  def allocator(name: String): BufferAllocator = ArrowUtils.rootAllocator.newChildAllocator(name, 0, Long.MaxValue)
}
