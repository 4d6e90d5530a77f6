package io.snapline.spark.provider

import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.{StateStoreConf, StateStoreId}

import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store.OpenState
import io.snapline.spark.protocol.{RestorePoint, TaskBarrier}

/** A store that is loaded on an executor before Spark sends a task there (docs/notes/024-rebalancing.md). It knows no
  * schema and makes no version. The store of the task takes its state over, with the changelogs since.
  *
  * Owns the state until then. One thread loads; any thread may end it.
  */
private[spark] final class WarmStore private (id: StateStoreId, private val location: StateLocation)
    extends StateOwner {
  private val state = location.open(_ => ())

  /** The list of open states ends it after it gave the state away, too. The local folder is the state's by then. */
  private val isOver = new AtomicBoolean

  private def load(version: Long, barrier: Option[TaskBarrier], configuration: Configuration): Unit = {
    val base = barrier.flatMap(_.restore).flatMap(RestorePoint.read(_, version, configuration)).flatMap(_.handle(id))
    location.prepare(state, barrier, base)
    val isInterval = barrier.exists(_.interval)
    state.load(version, None, interval = isInterval, base = base.map(_.ref), covered = barrier.flatMap(_.covered))
  }

  override def giveUp(wanted: VersionRef => Boolean): Option[OpenState] =
    if (isOver.compareAndSet(false, true)) state.leave(location.handOver())(wanted) else None

  override def end(): Unit = if (isOver.compareAndSet(false, true)) {
    try state.close()
    finally location.close()
  }

  override def toString: String = s"WarmStore[$id]"
}

private[spark] object WarmStore {

  /** Loads the store and leaves it to [[OpenStates]].
    *
    * @param barrier
    *   that of the batch which begins with this version; None: the query has no coordinator
    */
  def leave(
      id: StateStoreId,
      version: Long,
      barrier: Option[TaskBarrier],
      run: UUID,
      conf: StateStoreConf,
      configuration: Configuration
  ): Unit = {
    val settings = ProviderSettings.read(conf, configuration)
    val store = new WarmStore(id, new StateLocation(id, run, conf, configuration, settings))
    try store.load(version, barrier, configuration)
    catch {
      case e: Throwable =>
        store.end()
        throw e
    }
    OpenStates.here.keep(store.location.place, version, store)
  }
}
