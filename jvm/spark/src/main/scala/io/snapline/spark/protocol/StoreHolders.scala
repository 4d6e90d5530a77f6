package io.snapline.spark.protocol

import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint._
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener}

/** Makes a snapshot of the version that a store has committed last. */
trait SnapshotSource {

  /** False: it holds another version by now, or a task has it. */
  def snapshot(ref: VersionRef, to: SnapshotListener): Boolean
}

/** The stores of this executor whose newest version was made at a barrier without a checkpoint. The driver can have one
  * of them when no batch follows.
  *
  * The plugin's messages go from executors to the driver only, so this asks, as long as there is something that could
  * be asked for. Owns the thread that does; it ends when it is idle. Any thread.
  *
  * @param ask
  *   the driver; throws if there is no way to it
  */
private[spark] final class StoreHolders(
    ask: HoldersReport => Seq[HolderOrder],
    executor: () => String,
    tell: (AnyRef, Boolean => Unit) => Unit = ExecutorLink.tell,
    pauseMs: Long = StoreHolders.PauseMs
) {
  import StoreHolders._

  private val log = LoggerFactory.getLogger(classOf[StoreHolders])
  private val entries = mutable.HashMap.empty[(String, StoreId), Entry]
  private var asking = false

  private val thread = DaemonSchedule("snapline-holders")

  /** A task on it has come to its good end. */
  def hold(store: HeldStore, source: SnapshotSource): Unit = synchronized {
    entries((store.run, store.store)) = new Entry(store, source)
    if (!asking) again()
  }

  /** A task has it, or it is closed. */
  def letGo(run: String, store: StoreId): Unit = synchronized(entries -= ((run, store))): Unit

  /** There is no driver any more. */
  def clear(): Unit = synchronized(entries.clear())

  private def again(): Unit = {
    asking = true
    thread.schedule((() => round()): Runnable, pauseMs, TimeUnit.MILLISECONDS): Unit
  }

  private def round(): Unit = {
    val (runs, news) = synchronized((entries.keySet.map(_._1).toSeq, entries.values.filterNot(_.told).toSeq))
    try
      if (runs.nonEmpty) {
        val orders = ask(HoldersReport(executor(), runs, news.map(_.held)))
        synchronized(news.foreach(_.told = true))
        orders.foreach(follow)
      }
    catch {
      case _: InterruptedException => Thread.currentThread().interrupt()
      case NonFatal(e) =>
        log.debug("The driver could not be told which stores this executor holds; it is told again.", e)
    } finally synchronized {
        asking = false
        // The driver takes an executor that is silent for a dead one.
        if (entries.nonEmpty) again()
      }
  }

  private def follow(order: HolderOrder): Unit = order match {
    case HolderOrder.Forget(run) => synchronized(entries.filterInPlace { case ((of, _), _) => of != run }): Unit
    case take: HolderOrder.Take =>
      val there = synchronized(entries.get((take.run, take.store)).filter(_.held.ref == take.ref))
      // An order comes until it is answered.
      if (!there.exists(_.asked.contains(take.checkpoint))) {
        there.foreach(_.asked = Some(take.checkpoint))
        val answer = new Answer(take, there)
        val taken =
          try there.exists(_.source.snapshot(take.ref, answer))
          catch {
            case NonFatal(e) =>
              answer.failed(new RuntimeException(e))
              true
          }
        if (!taken) answer.declined(FailureReason.NotReady, "The next batch has it, or it was closed.")
      }
  }

  /** An order that was answered is not asked for again. */
  private def answered(entry: Entry): Unit = synchronized {
    if (entries.get((entry.held.run, entry.held.store)).contains(entry)) letGo(entry.held.run, entry.held.store)
  }

  private final class Answer(take: HolderOrder.Take, entry: Option[Entry]) extends SnapshotListener {
    override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit = {
      val ack =
        Acknowledgement(take.query, take.run, take.checkpoint, take.store, StateHandle.of(handle, figures))
      tell(ack, granted => if (granted) mayReuse())
      entry.foreach(answered)
    }

    override def failed(reason: Exception): Unit =
      declined(FailureReason.AsyncFailure, s"${reason.getClass.getSimpleName}: ${reason.getMessage}")

    def declined(reason: FailureReason, message: String): Unit = {
      tell(Decline(take.query, take.run, take.checkpoint, take.store, reason, message), _ => ())
      entry.foreach(answered)
    }
  }
}

private[spark] object StoreHolders {
  private val PauseMs = 200L

  /** This executor's. */
  lazy val here: StoreHolders = new StoreHolders(ExecutorLink.ask, () => ExecutorLink.executor)

  private final class Entry(val held: HeldStore, val source: SnapshotSource) {
    var told = false
    @volatile var asked: Option[Long] = None
  }
}
