package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.types.StructType

/** The interface of a store with all calls that any line of Spark has. On this line there is a method of its own for
  * states that are only read; Spark's trait answers it with an exception.
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
