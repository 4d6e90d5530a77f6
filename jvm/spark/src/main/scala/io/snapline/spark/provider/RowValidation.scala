package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

/** Spark's check of a row read from state against the query's schema: once for each store opened, as in Spark's
  * providers.
  *
  * @param on
  *   whether the store has one schema (several column families have several)
  */
private[spark] final class RowValidation(
    keySchema: StructType,
    valueSchema: StructType,
    id: StateStoreId,
    conf: StateStoreConf,
    on: Boolean
) {
  val enabled: Boolean = on && conf.formatValidationEnabled

  def check(key: UnsafeRow, value: UnsafeRow): Unit =
    StateStoreProvider.validateStateRowFormat(key, keySchema, value, valueSchema, id, conf)
}
