package io.snapline.spark.coordinator

import java.util.{Collections, LinkedHashMap, Map => JavaMap, UUID}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.snapline.StoreLocations
import org.slf4j.LoggerFactory

import io.snapline.spark.protocol.TaskBarrier
import io.snapline.spark.provider.{ProviderSettings, SnaplineProvider}

/** Gives executors that were added their share of the stores, and stores of those that are gone a new place
  * (docs/notes/024-rebalancing.md).
  *
  * Spark sends a task where its store is, for as long as the executor lives: one that is added later would get none. A
  * task whose executor is gone waits for it all the same, as long as `spark.locality.wait` says.
  */
private[spark] final class Rebalancing(executors: LiveExecutors) {
  import Rebalancing._

  private val log = LoggerFactory.getLogger(classOf[Rebalancing])

  /** By run, the executors among which its stores are even. */
  private val even = Collections.synchronizedMap(new Recent)

  /** Before a batch's tasks start, on the stream's thread. Costs nothing while executors neither come nor go.
    *
    * @param barrier
    *   the batch's, if the query has a coordinator
    */
  def planned(batch: PlannedBatch, session: SparkSession, barrier: Option[TaskBarrier]): Unit = {
    val seen = executors.current
    if (seen.executors.size > 1 && (even.get(batch.run) ne seen) && isInStorage(barrier) && isOn(session)) {
      val locations = new StoreLocations(session, batch.stateFolder, batch.run)
      val isEven = batch.operators.map(balance(_, locations, seen.executors)).forall(identity)
      if (isEven) even.put(batch.run, seen): Unit
    }
  }

  /** Whether another executor finds the state that this batch begins with. */
  private def isInStorage(barrier: Option[TaskBarrier]): Boolean =
    barrier.forall(b => !b.replays && (!b.interval || b.covered.isDefined))

  private def isOn(session: SparkSession): Boolean =
    session.conf.get(ProviderClass, "") == SnaplineProvider.ClassName && session.conf.get(Enabled, "true").toBoolean

  /** Whether there is nothing to do for the operator now, or after the next batch. */
  private def balance(
      operator: PlannedOperator,
      locations: StoreLocations,
      live: Map[String, LiveExecutors.Executor]
  ): Boolean = {
    val where = (0 until operator.parallelism).map { partition =>
      operator.stores.view.flatMap(locations.of(operator.id, partition, _)).find(live.contains)
    }
    // A run's first batch: Spark sends its tasks where there is room.
    if (where.forall(_.isEmpty)) true
    else {
      val moves = Balance.moves(where, live.map { case (id, executor) => id -> executor.cores })
      for ((partition, to) <- moves; store <- operator.stores)
        locations.move(operator.id, partition, store, live(to).host, to)
      if (moves.nonEmpty) {
        val text = moves.map { case (partition, to) => s"$partition to $to" }.mkString(", ")
        log.info(s"Partitions of operator ${operator.id} (${operator.name}) go to other executors: $text")
      }
      moves.isEmpty
    }
  }
}

private object Rebalancing {
  private val MaxRuns = 1000
  private val ProviderClass = "spark.sql.streaming.stateStore.providerClass"
  private val Enabled = s"${ProviderSettings.Prefix}state.rebalance.enabled"

  private final class Recent extends LinkedHashMap[UUID, LiveExecutors.Seen] {
    override def removeEldestEntry(eldest: JavaMap.Entry[UUID, LiveExecutors.Seen]): Boolean = size > MaxRuns
  }
}
