package io.snapline.spark.provider

import java.util.concurrent.{ScheduledFuture, TimeUnit}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.execution.streaming.state.StateStoreId
import org.slf4j.LoggerFactory

import io.snapline.checkpoint.StoreId
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store.OpenState
import io.snapline.spark.protocol.DaemonSchedule

/** The owner of a loaded state that another store of the same partition may want next. */
private[spark] trait StateOwner {

  /** Ends the owner, if it gives the state away; None: it does not hold it, or a task has it, or it cannot let go of it
    * soon.
    */
  def giveUp(wanted: VersionRef => Boolean): Option[OpenState]

  /** Nobody wants it. */
  def end(): Unit
}

/** States of this executor that a replayed batch has left loaded (docs/notes/015-replays.md). Each replayed batch is a
  * run of its own, with stores of its own; those of the next run take the states over instead of loading them anew. So
  * do stores that move here, with states that were loaded ahead of them (docs/notes/024-rebalancing.md).
  *
  * Spark closes the stores of a run that has ended at about the time when the next run opens its first. An owner it
  * closes meanwhile is kept until its state is taken, or outdated, or nobody has taken or left any for a while. Any
  * thread; owners are ended on a thread of its own.
  */
private[spark] final class OpenStates(quietMs: Long = OpenStates.QuietMs) {
  import OpenStates._

  private val log = LoggerFactory.getLogger(classOf[OpenStates])
  private val entries = mutable.HashMap.empty[Place, Entry]
  private var touched = System.nanoTime()
  private var watch: Option[ScheduledFuture[_]] = None

  private val thread = DaemonSchedule("snapline-open-states")

  /** A task has come to its good end with this version. */
  def leave(place: Place, version: Long, owner: StateOwner): Unit = synchronized {
    touched = System.nanoTime()
    // All partitions have made the version before it when one makes the next.
    remove { case (there, entry) => there == place || there.root == place.root && entry.version < version - 1 }
    entries(place) = new Entry(version, owner, isOurs = false)
  }

  /** A state that no task has used yet. This ends the owner if nobody takes the state for a while. */
  def keep(place: Place, version: Long, owner: StateOwner): Unit = synchronized {
    touched = System.nanoTime()
    remove { case (there, _) => there == place }
    entries(place) = new Entry(version, owner, isOurs = true)
    watchIfNeeded()
  }

  /** Spark closes the owner. True: this ends it when the time has come. */
  def keeps(owner: StateOwner): Boolean = synchronized {
    val entry = entries.values.find(_.owner eq owner)
    entry.foreach(_.isOurs = true)
    watchIfNeeded()
    entry.isDefined
  }

  /** The state of this store, if it is the wanted one and its owner can let go of it. */
  def take(place: Place)(wanted: VersionRef => Boolean): Option[OpenState] = {
    val found = synchronized {
      touched = System.nanoTime()
      // It stays until its owner releases it: Spark may be closing it.
      entries.get(place)
    }
    found.flatMap { entry =>
      val state = entry.owner.giveUp(wanted)
      synchronized(remove { case (_, other) => other eq entry })
      state
    }
  }

  /** The executor ends. */
  def clear(): Unit = synchronized(remove(_ => true))

  private def remove(which: ((Place, Entry)) => Boolean): Unit = {
    val gone = entries.filter(which)
    entries --= gone.keys
    watchIfNeeded()
    gone.values.filter(_.isOurs).foreach(entry => thread.execute(() => end(entry.owner)))
  }

  private def end(owner: StateOwner): Unit =
    try owner.end()
    catch { case NonFatal(e) => log.warn(s"$owner could not be closed.", e) }

  /** As long as there are any, and no longer: nothing of this is left when a query has recovered. */
  private def watchIfNeeded(): Unit =
    if (!entries.values.exists(_.isOurs)) {
      watch.foreach(_.cancel(false))
      watch = None
    } else if (watch.isEmpty) watch = Some(thread.schedule((() => look()): Runnable, quietMs, TimeUnit.MILLISECONDS))

  private def look(): Unit = synchronized {
    watch = None
    if (System.nanoTime() - touched >= TimeUnit.MILLISECONDS.toNanos(quietMs)) remove { case (_, entry) =>
      entry.isOurs
    }
    watchIfNeeded()
  }
}

private[spark] object OpenStates {

  /** Longer than tasks wait for a free core between two batches of a replay, as a rule; a state that is not waited for
    * is loaded.
    */
  private val QuietMs = 60000L

  /** The longest time for an owner to release a state. */
  val WaitMs = 5000L

  /** This executor's. */
  lazy val here: OpenStates = new OpenStates

  /** @param root
    *   the folder of all of the query's state
    */
  final case class Place(root: String, store: StoreId)

  object Place {
    def of(id: StateStoreId): Place =
      Place(id.checkpointRootLocation, StoreId(id.operatorId, id.partitionId, id.storeName))
  }

  /** @param isOurs
    *   Spark has closed the owner, or never knew it
    */
  private final class Entry(val version: Long, val owner: StateOwner, var isOurs: Boolean)
}
