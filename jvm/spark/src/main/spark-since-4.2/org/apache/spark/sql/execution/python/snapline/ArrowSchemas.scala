package org.apache.spark.sql.execution.python.snapline

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema

import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

/** Spark's own mapping to Arrow. */
object ArrowSchemas {
  def of(timeZone: String)(schema: StructType): Schema = ArrowUtils.toArrowSchema(schema, timeZone, false)

  def allocator(name: String): BufferAllocator = ArrowUtils.rootAllocator.newChildAllocator(name, 0, Long.MaxValue)
}
