package io.snapline.spark

/** The state formats of stream-stream joins that this line of Spark plans on a provider that is not its own. Where one above 2 is asked for, a new query gets 2:
  * Spark looks whether the provider is a subclass of its RocksDB one (`MicroBatchExecution.applyJoinStateConfigGuardrails`).
  */
object JoinFormats {
  val planned: Map[Int, Int] = Map(1 -> 1, 2 -> 2, 3 -> 2, 4 -> 2)
}
