package io.snapline.spark.ui

import scala.annotation.meta.getter

import org.apache.spark.util.kvstore.KVIndex

import io.snapline.checkpoint.{Acked, PendingCheckpoint, StoreId}

/** The figures of each partition for one checkpoint. It is the largest record of the tab, so it is kept for the newest
  * checkpoints only.
  *
  * @param key
  *   key of the checkpoint
  */
final case class PartitionsRecord(@(KVIndex @getter) key: String, operators: Seq[OperatorPartitions])

/** The stores of one operator, in columns: as JSON they take a third of what a list of objects takes. Milliseconds,
  * bytes.
  *
  * @param all
  *   stores of the operator; of more than are kept, those are here that did not answer, and then the slowest
  * @param storeNames
  *   `store` counts in this list
  * @param duration
  *   from the trigger to the acknowledgement; -1: there was none
  */
final case class OperatorPartitions(
    operator: Long,
    all: Int,
    storeNames: Seq[String],
    partition: Array[Int],
    store: Array[Int],
    duration: Array[Long],
    checkpointedSize: Array[Long],
    stateSize: Array[Long],
    sync: Array[Long],
    async: Array[Long],
    inFlightSize: Array[Long] = Array.empty
) {
  def size: Int = partition.length

  def rows: IndexedSeq[PartitionFigures] = {
    val startDelays = (0 until size).map(i => math.max(0, duration(i) - sync(i) - async(i)))
    val last = (0 until size).filter(duration(_) >= 0).map(startDelays).maxOption
    (0 until size).map { i =>
      PartitionFigures(
        partition(i),
        storeNames(store(i)),
        duration(i),
        checkpointedSize(i),
        stateSize(i),
        sync(i),
        async(i),
        startDelays(i),
        last.getOrElse(startDelays(i)) - startDelays(i),
        inFlightSize.lift(i).getOrElse(0L)
      )
    }
  }
}

/** One store of one partition.
  *
  * @param startDelay
  *   time from the trigger to the snapshot: the batch itself, and all that neither phase accounts for
  * @param alignment
  *   from its snapshot to that of the last of the operator that has answered: what it waits at the barrier for the
  *   slowest
  * @param inFlightSize
  *   bytes of in-flight data
  */
final case class PartitionFigures(
    partition: Int,
    store: String,
    duration: Long,
    checkpointedSize: Long,
    stateSize: Long,
    sync: Long,
    async: Long,
    startDelay: Long,
    alignment: Long,
    inFlightSize: Long
) {
  def acked: Boolean = duration >= 0
}

object OperatorPartitions {

  /** Stores of one operator that are kept. */
  val Most = 10000

  def of(p: PendingCheckpoint): Seq[OperatorPartitions] =
    p.expected.groupBy(_.operator).toSeq.sortBy(_._1).map { case (operator, stores) =>
      columns(operator, stores.toSeq.map(store => store -> p.acked.get(store)), p.triggeredMs)
    }

  private def columns(operator: Long, stores: Seq[(StoreId, Option[Acked])], triggeredMs: Long): OperatorPartitions = {
    val kept =
      (if (stores.size <= Most) stores
       else stores.sortBy { case (_, ack) => -ack.fold(Long.MaxValue)(_.atMs) }.take(Most))
        .sortBy { case (id, _) => (id.partition, id.store) }
    val names = kept.map(_._1.store).distinct.sorted
    def column(value: Acked => Long): Array[Long] = kept.map(_._2.fold(-1L)(value)).toArray
    OperatorPartitions(
      operator,
      stores.size,
      names,
      kept.map(_._1.partition).toArray,
      kept.map { case (id, _) => names.indexOf(id.store) }.toArray,
      column(ack => math.max(0, ack.atMs - triggeredMs)),
      column(_.handle.incrementalBytes),
      column(_.handle.fullBytes),
      column(_.handle.syncMs),
      column(_.handle.asyncMs),
      column(_.handle.inFlightBytes)
    )
  }
}
