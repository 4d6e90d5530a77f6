package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.types.StructType

/** The interface of a store with all calls that any line of Spark has. On this line operators declare the states of a
  * store that they only read by a method of its own, which Spark's trait answers with an exception.
  */
trait StoreBase extends StateStore {
  override def registerColFamily(
      name: String,
      keySchema: StructType,
      valueSchema: StructType,
      spec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit = createColFamilyIfAbsent(name, keySchema, valueSchema, spec, useMultipleValuesPerKey, isInternal)
}
