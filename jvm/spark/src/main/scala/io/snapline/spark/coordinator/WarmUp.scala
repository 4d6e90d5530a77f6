package io.snapline.spark.coordinator

import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.ExecutionContext
import scala.util.{Failure, Success}
import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.execution.streaming.state.{StateStoreConf, StateStoreId}
import org.apache.spark.sql.execution.streaming.state.snapline.{StateInternals, StoreLocations}
import org.apache.spark.util.SerializableConfiguration
import org.slf4j.LoggerFactory

import io.snapline.spark.protocol.TaskBarrier
import io.snapline.spark.provider.WarmStore

/** Loads states on the executors that they are to move to, by a Spark job beside the query's own
  * (docs/notes/024-rebalancing.md). The job belongs to the query's job group: it ends when the query is stopped.
  */
private[coordinator] object WarmUp {
  private val log = LoggerFactory.getLogger(classOf[WarmUp.type])

  /** The stores of one partition of an operator. */
  final case class Move(operator: PlannedOperator, partition: Int, to: LiveExecutors.Executor, executor: String)

  /** Called on the stream's thread. Waits for nothing.
    *
    * @param ended
    *   told when the job has ended, on another thread; how many of the moves have their states loaded
    */
  def start(
      moves: Seq[Move],
      batch: PlannedBatch,
      barrier: Option[TaskBarrier],
      session: SparkSession
  )(ended: Int => Unit): Unit = {
    val context = session.sparkContext
    val configuration = StateInternals.ofRun(SessionInternals.hadoopConfiguration(session), batch.run)
    val shared = context.broadcast(new SerializableConfiguration(configuration))
    val conf = SessionInternals.storeConf(session)
    val tasks = tasksOf(moves).map { part =>
      val stores = part.map { move =>
        move.operator.stores.map(StateStoreId(batch.stateFolder, move.operator.id, move.partition, _))
      }
      val Move(_, _, to, executor) = part.head
      val task = new Task(executor, stores, batch.batch, barrier.map(_.text), batch.run, conf, shared)
      task -> Seq(StoreLocations.preferred(to.host, executor))
    }
    val loaded = new AtomicInteger
    val job = beside(context, s"Snapline loads ${moves.size} partitions of state ahead of their move") {
      context.submitJob[Task, Int, Unit](
        context.makeRDD(tasks),
        _.map(_.run()).sum,
        tasks.indices,
        (_, count) => loaded.addAndGet(count): Unit,
        ()
      )
    }
    job.onComplete { outcome =>
      shared.destroy()
      outcome match {
        case Success(_) => ()
        case Failure(e) => log.info(s"States were not loaded ahead of their move: ${e.getMessage}")
      }
      ended(loaded.get)
    }(ExecutionContext.global)
  }

  /** As many for an executor as it has cores, all of which start at once: Spark would send one that waits elsewhere. */
  private def tasksOf(moves: Seq[Move]): Seq[Seq[Move]] = moves.groupBy(_.executor).values.toSeq.flatMap { share =>
    share.zipWithIndex.groupMap(_._2 % share.head.to.cores)(_._1).values
  }

  /** The job has no part in the query's current execution, which may end before it. */
  private def beside[A](context: SparkContext, description: String)(submit: => A): A = {
    val own =
      Map("spark.job.description" -> description, "spark.sql.execution.id" -> null, TaskBarrier.Property -> null)
    val before = own.keys.map(name => name -> context.getLocalProperty(name)).toMap
    own.foreach { case (name, value) => context.setLocalProperty(name, value) }
    try submit
    finally before.foreach { case (name, value) => context.setLocalProperty(name, value) }
  }

  /** @param partitions
    *   the stores of each
    */
  private final class Task(
      executor: String,
      partitions: Seq[Seq[StateStoreId]],
      version: Long,
      barrier: Option[String],
      run: UUID,
      conf: StateStoreConf,
      shared: Broadcast[SerializableConfiguration]
  ) extends Serializable {

    /** How many partitions are loaded, here where they are to be. */
    def run(): Int = if (SparkEnv.get.executorId == executor) partitions.count(load) else 0

    /** A failure costs the move its warm start, and nothing else. */
    private def load(stores: Seq[StateStoreId]): Boolean =
      try {
        stores.foreach(WarmStore.leave(_, version, barrier.map(TaskBarrier.parse), run, conf, shared.value.value))
        true
      } catch {
        case NonFatal(e) =>
          log.warn(s"${stores.head} could not be loaded ahead of its move; the task that needs it loads it.", e)
          false
      }
  }
}
