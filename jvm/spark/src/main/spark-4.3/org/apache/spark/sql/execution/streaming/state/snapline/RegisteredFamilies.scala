package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.types.StructType

/** How operators declare the states of a store that they only read: on this line by a method of its own, which Spark's
  * trait answers with an exception.
  */
trait RegisteredFamilies extends StateStore {
  override def registerColFamily(
      name: String,
      keySchema: StructType,
      valueSchema: StructType,
      spec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit = createColFamilyIfAbsent(name, keySchema, valueSchema, spec, useMultipleValuesPerKey, isInternal)
}
