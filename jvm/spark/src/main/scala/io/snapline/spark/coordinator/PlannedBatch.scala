package io.snapline.spark.coordinator

import java.util.UUID

import io.snapline.checkpoint.StoreId

/** A stateful operator of a micro-batch's plan. Each of its partitions has each of its stores.
  *
  * @param feedsState
  *   whether another stateful operator gets its rows
  */
final case class PlannedOperator(
    id: Long,
    name: String,
    parallelism: Int,
    stores: Seq[String],
    feedsState: Boolean = false
) {
  def storeIds: Seq[StoreId] =
    for (partition <- 0 until parallelism; store <- stores) yield StoreId(id, partition, store)
}

/** A micro-batch that is about to run.
  *
  * @param stateFolder
  *   `<checkpoint>/state`
  */
final case class PlannedBatch(stateFolder: String, run: UUID, batch: Long, operators: Seq[PlannedOperator])
