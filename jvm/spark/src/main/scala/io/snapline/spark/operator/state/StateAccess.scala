package io.snapline.spark.operator.state

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types.StructType

import io.snapline.spark.operator.frames.{PartReader, PartWriter}
import io.snapline.spark.settings.WorkerLimits

/** The objects and limits that all states of a task share.
  *
  * @param schemaOf
  *   Arrow's schema of Spark's, in the session's time zone
  * @param maxPrefetch
  *   most entries of a list or map that are sent ahead
  * @param pageBytes
  *   most bytes of state that travel together
  */
final class StateAccess(
    val store: StateStore,
    val keySchema: StructType,
    val keys: EpochKeys,
    val allocator: BufferAllocator,
    val schemaOf: StructType => Schema,
    val maxPrefetch: Int,
    val counts: ChangeCounts,
    val pageBytes: Long = WorkerLimits.MostBytes
) {

  /** Whether keys begin with timers now, and not with rows. */
  var atTimers: Boolean = false

  def writer(id: Int, schema: StructType): PartWriter = new PartWriter(id, schemaOf(schema), allocator)

  def reader(id: Int, schema: StructType): PartReader = new PartReader(id, schemaOf(schema), allocator)

  def keysFrom(first: Int, until: Int): Array[UnsafeRow] = {
    val rows = new Array[UnsafeRow](until - first)
    var slot = first
    while (slot < until) {
      rows(slot - first) = keys(slot)
      slot += 1
    }
    rows
  }
}

/** Rows of state a task has written and removed, and what it did about timers and expiry. */
final class ChangeCounts {
  var updated = 0L
  var removed = 0L
  var fetched = 0L
  var timersRegistered = 0L
  var timersDeleted = 0L
  var timersFired = 0L
  var expired = 0L
}
