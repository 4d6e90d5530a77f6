package io.snapline.checkpoint.coordinator

import scala.collection.mutable
import scala.util.Random

import io.snapline.checkpoint.{NamedFile, SharedFile, StateHandle, StoreFile, StoreId}
import io.snapline.snapshot.format.{UidClock, VersionRef}
import io.snapline.snapshot.merged.MergedPlace

/** The stores of a query on its executors, and the folder they write to. A store uploads one snapshot after another;
  * each reuses files of the one the driver has answered for.
  *
  * @param merging
  *   whether executors put handles of several stores into one file
  */
final class ModelStores(random: Random, merging: Boolean) {
  import ModelStores._

  private val clock = new UidClock(() => 0)
  private val lines = mutable.Map.empty[(String, StoreId), Line]

  /** Names in storage. */
  val stored = mutable.Set.empty[NamedFile]

  /** A run's stores are loaded from a checkpoint. */
  def load(run: String, stores: Set[StoreId], from: Map[StoreId, StateHandle]): Unit =
    stores.foreach(store => lines((run, store)) = new Line(from.get(store).fold(Seq.empty[SharedFile])(_.files)))

  /** @param mayBeAhead
    *   stores that make the snapshot later; one for several checkpoints, if they have not come to it
    */
  def barrier(run: String, checkpoint: Long, batch: Long, stores: Set[StoreId], mayBeAhead: Set[StoreId]): Unit =
    stores.foreach { store =>
      val queue = lines((run, store)).queue
      if (mayBeAhead(store)) queue.dropWhileInPlace(_.late): Unit
      queue += Waiting(run, checkpoint, batch + 1, store, mayBeAhead(store))
    }

  def isIdle: Boolean = lines.values.forall(_.queue.isEmpty)

  /** The executors of other runs are gone; what they had uploaded stays. */
  def forgetAllBut(run: String): Unit = lines.keys.filter(_._1 != run).toSeq.foreach(lines.remove)

  /** One upload, or those whose handles go into the same files: the handles to acknowledge, two for a store if a second
    * attempt of the task also came to its end; none if it failed.
    *
    * @param version
    *   the newest that tasks have made
    */
  def upload(live: Option[String], version: Long): Seq[(Waiting, Seq[StateHandle])] = {
    val all = lines.values.filter(_.queue.nonEmpty).toSeq
    if (all.isEmpty) Nil
    else {
      val first = all(random.nextInt(all.size))
      def isWithIt(line: Line) = merging && random.nextBoolean() &&
        line.queue.head.run == first.queue.head.run && line.queue.head.checkpoint == first.queue.head.checkpoint
      // Two executors have a part.
      val files = Seq(clock.next(), clock.next())
      all.filter(line => (line eq first) || isWithIt(line)).flatMap(upload(_, live, version, files))
    }
  }

  private def upload(
      line: Line,
      live: Option[String],
      version: Long,
      files: Seq[String]
  ): Option[(Waiting, Seq[StateHandle])] =
    // Without an answer it goes on sooner or later, and reuses nothing.
    if (line.unanswered.isDefined && random.nextInt(4) > 0) None
    else {
      if (line.unanswered.isDefined) line.base = Nil
      line.unanswered = None
      val next = line.queue.dequeue()
      val later = math.max(0L, version - next.version)
      val waiting = if (next.late) next.copy(version = next.version + random.nextLong(later + 1)) else next
      val first = snapshot(waiting, line.base, live.contains(waiting.run), files)
      if (random.nextInt(15) == 0) {
        stored -= StoreFile(waiting.store, first.ref.handleName)
        Some((waiting, Nil))
      } else {
        // Another executor builds on nothing. Either may be the one that goes on.
        val handles =
          first +: Seq.fill(if (random.nextInt(20) == 0) 1 else 0)(snapshot(waiting, Nil, live = true, files))
        line.unanswered = Some(handles(random.nextInt(handles.size)))
        Some((waiting, handles))
      }
    }

  def answered(run: String, store: StoreId, handle: StateHandle, mayReuse: Boolean): Unit =
    lines.get((run, store)).filter(_.unanswered.contains(handle)).foreach { line =>
      line.base = if (mayReuse) handle.files else Nil
      line.unanswered = None
    }

  /** What a run that is over builds on may be gone: nothing will come of it. */
  private def snapshot(waiting: Waiting, base: Seq[SharedFile], live: Boolean, merged: Seq[String]): StateHandle = {
    val reused = base.filter(_ => random.nextInt(4) > 0)
    reused.foreach { file =>
      assert(!live || stored(StoreFile(waiting.store, file.storedName)), s"$waiting builds on ${file.uid}: deleted")
    }
    val fresh = Seq.fill(random.nextInt(3))(SharedFile(clock.next(), 10L, 1))
    fresh.foreach(file => stored += StoreFile(waiting.store, file.storedName))
    val ref = VersionRef(waiting.version, clock.next())
    val files = reused ++ fresh
    val place = Option.when(merging && random.nextInt(6) > 0)(MergedPlace(merged(random.nextInt(merged.size)), 28))
    val handle = StateHandle(ref, files, 10L * files.size, fresh.size, 10L * fresh.size, 1, 2, 5, place)
    stored += handle.mergedFile.getOrElse(StoreFile(waiting.store, ref.handleName))
    handle
  }
}

object ModelStores {

  /** A snapshot that is waiting to be uploaded. */
  final case class Waiting(run: String, checkpoint: Long, version: Long, store: StoreId, late: Boolean)

  private final class Line(var base: Seq[SharedFile]) {
    val queue = mutable.Queue.empty[Waiting]
    var unanswered: Option[StateHandle] = None
  }
}
