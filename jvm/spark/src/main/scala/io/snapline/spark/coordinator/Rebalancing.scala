package io.snapline.spark.coordinator

import java.util.{Collections, LinkedHashMap, Map => JavaMap, UUID}

import scala.collection.concurrent.TrieMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.execution.streaming.state.snapline.StoreLocations
import org.slf4j.LoggerFactory

import io.snapline.spark.protocol.TaskBarrier
import io.snapline.spark.provider.{ProviderSettings, SnaplineProvider}
import io.snapline.spark.settings.SettingValues

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

  /** Runs whose states are being loaded elsewhere. */
  private val warming = TrieMap.empty[UUID, Unit]

  /** Before a batch's tasks start, on the stream's thread. Costs nothing while executors neither come nor go.
    *
    * @param barrier
    *   the batch's, if the query has a coordinator
    */
  def planned(batch: PlannedBatch, session: SparkSession, barrier: Option[TaskBarrier]): Unit = {
    val seen = executors.current
    if (seen.executors.size > 1 && (even.get(batch.run) ne seen) && isInStorage(barrier) && isOn(session)) {
      val locations = new StoreLocations(session, batch.stateFolder, batch.run)
      val moves = batch.operators.flatMap(movesOf(_, locations, seen.executors))
      // The executor before is gone: the task that comes next has to load the state wherever it runs.
      val (lost, uneven) = moves.partition(_._2.isEmpty)
      move(lost.map(_._1), locations)
      if (moves.isEmpty) even.put(batch.run, seen): Unit
      else if (uneven.nonEmpty && warming.putIfAbsent(batch.run, ()).isEmpty) {
        val ahead = uneven.map(_._1)
        try WarmUp.start(ahead, batch, barrier, session) { loaded =>
            log.info(s"$loaded of ${ahead.size} partitions of state are loaded ahead of their move.")
            try if (SessionInternals.running(session, batch.run).isDefined) move(ahead, locations)
            finally warming -= batch.run
          }
        catch { case e: Throwable => warming -= batch.run; throw e }
      }
    }
  }

  /** A state that could not be loaded ahead moves all the same: otherwise it might never. */
  private def move(moves: Seq[WarmUp.Move], locations: StoreLocations): Unit =
    moves.filter(move => executors.current.executors.contains(move.executor)).foreach { move =>
      import move.{executor, operator, partition, to}
      operator.stores.foreach(locations.move(operator.id, partition, _, to.host, executor))
      log.info(s"Partition $partition of operator ${operator.id} (${operator.name}) goes to executor $executor.")
    }

  /** Whether another executor finds the state that this batch begins with. */
  private def isInStorage(barrier: Option[TaskBarrier]): Boolean =
    barrier.forall(b => !b.replays && (!b.interval || b.covered.isDefined))

  private def isOn(session: SparkSession): Boolean =
    SessionInternals.storeConf(session).providerClass == SnaplineProvider.ClassName &&
      new SettingValues(ProviderSettings.set(
        SessionInternals.hadoopConfiguration(session)
      )).flag(ProviderSettings.Rebalance)

  /** Each with the executor before; None: it is gone. */
  private def movesOf(
      operator: PlannedOperator,
      locations: StoreLocations,
      live: Map[String, LiveExecutors.Executor]
  ): Seq[(WarmUp.Move, Option[String])] = {
    val where = (0 until operator.parallelism).map { partition =>
      operator.stores.view.flatMap(locations.of(operator.id, partition, _)).find(live.contains)
    }
    // A run's first batch: Spark sends its tasks where there is room.
    if (where.forall(_.isEmpty)) Nil
    else {
      Balance.moves(where, live.keySet).map { case (partition, to) =>
        WarmUp.Move(operator, partition, live(to), to) -> where(partition)
      }
    }
  }
}

private object Rebalancing {
  private val MaxRuns = 1000

  private final class Recent extends LinkedHashMap[UUID, LiveExecutors.Seen] {
    override def removeEldestEntry(eldest: JavaMap.Entry[UUID, LiveExecutors.Seen]): Boolean = size > MaxRuns
  }
}
