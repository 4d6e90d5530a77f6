package io.snapline.checkpoint

import scala.collection.mutable
import scala.util.Random

import io.snapline.snapshot.{UidClock, VersionRef}

/** The stores of a query on its executors, and the folder they write to. Snapshots of one store are uploaded one after another, each on what the one before left.
  */
final class ModelStores(random: Random) {
  import ModelStores._

  private val clock = new UidClock(() => 0)
  private val lines = mutable.Map.empty[(String, StoreId), Line]

  /** Names in storage. */
  val stored = mutable.Set.empty[StoreFile]

  private final class Line(var base: Seq[SharedFile]) {
    val queue = mutable.Queue.empty[Waiting]
  }

  /** A run's stores are loaded from a checkpoint. */
  def load(run: String, stores: Set[StoreId], from: Map[StoreId, StateHandle]): Unit =
    stores.foreach(store => lines((run, store)) = new Line(from.get(store).fold(Seq.empty[SharedFile])(_.files)))

  def barrier(run: String, checkpoint: Long, batch: Long, stores: Set[StoreId]): Unit =
    stores.foreach(store => lines((run, store)).queue += Waiting(run, checkpoint, batch + 1, store))

  private def busy: Seq[Line] = lines.values.filter(_.queue.nonEmpty).toSeq

  def isIdle: Boolean = busy.isEmpty

  /** The executors of runs that are over are gone; what they had uploaded stays. */
  def forget(run: String): Unit = lines.keys.filter(_._1 != run).toSeq.foreach(lines.remove)

  /** One upload: the handles to acknowledge, two if a second attempt of the task also came to its end; none if it failed. */
  def upload(live: Option[String]): (Option[Waiting], Seq[StateHandle]) = {
    val all = busy
    if (all.isEmpty) (None, Nil)
    else {
      val line = all(random.nextInt(all.size))
      val waiting = line.queue.dequeue()
      val base = line.base
      val handles = Seq.fill(if (random.nextInt(20) == 0) 2 else 1)(snapshot(waiting, base, live.contains(waiting.run)))
      if (random.nextInt(15) == 0) {
        handles.foreach(handle => stored -= StoreFile(waiting.store, handle.ref.handleName))
        (Some(waiting), Nil)
      } else {
        // Either attempt's executor may be the one that goes on.
        line.base = handles(random.nextInt(handles.size)).files
        (Some(waiting), handles)
      }
    }
  }

  /** What a run that is over builds on may be gone: nothing will come of it. */
  private def snapshot(waiting: Waiting, base: Seq[SharedFile], live: Boolean): StateHandle = {
    val reused = base.filter(_ => random.nextInt(4) > 0)
    reused.foreach { file =>
      assert(!live || stored(StoreFile(waiting.store, file.storedName)), s"$waiting builds on ${file.uid}, which was deleted")
    }
    val fresh = Seq.fill(random.nextInt(3))(SharedFile(clock.next(), 10L, 1))
    fresh.foreach(file => stored += StoreFile(waiting.store, file.storedName))
    val ref = VersionRef(waiting.version, clock.next())
    stored += StoreFile(waiting.store, ref.handleName)
    val files = reused ++ fresh
    StateHandle(ref, files, 10L * files.size, fresh.size, 10L * fresh.size, 1, 2, 5)
  }
}

object ModelStores {

  /** A snapshot that is waiting to be uploaded. */
  final case class Waiting(run: String, checkpoint: Long, version: Long, store: StoreId)
}
