package org.apache.spark.sql.execution.streaming.state.snapline

import java.util.UUID

import org.apache.spark.scheduler.{ExecutorCacheTaskLocation, TaskLocation}
import org.apache.spark.sql.{classic, SparkSession}

import org.apache.spark.sql.execution.streaming.state.{StateStoreId, StateStoreProviderId}

/** The executors that tasks of a run prefer, as Spark's own coordinator of state stores has them: those where the
  * stores are.
  */
final class StoreLocations(session: SparkSession, stateFolder: String, run: UUID) {
  private val coordinator = session.asInstanceOf[classic.SparkSession].streams.stateStoreCoordinator

  /** None: no executor has reported the store. */
  def of(operator: Long, partition: Int, store: String): Option[String] =
    coordinator.getLocation(id(operator, partition, store)).map(TaskLocation(_)).collect {
      case at: ExecutorCacheTaskLocation => at.executorId
    }

  /** The next task goes there, and loads the store. The executor before gives its own back when it does maintenance. */
  def move(operator: Long, partition: Int, store: String, host: String, executor: String): Unit =
    coordinator.reportActiveInstance(id(operator, partition, store), host, executor, Nil): Unit

  private def id(operator: Long, partition: Int, store: String) =
    StateStoreProviderId(StateStoreId(stateFolder, operator, partition, store), run)
}

object StoreLocations {

  /** A task's preferred location, as Spark writes it. */
  def preferred(host: String, executor: String): String = ExecutorCacheTaskLocation(host, executor).toString
}
