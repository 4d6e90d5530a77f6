package io.snapline.snapshot.store

import scala.annotation.tailrec

import org.slf4j.LoggerFactory

import io.snapline.error.{CheckpointDamaged, InternalError, StateNotFound}
import io.snapline.snapshot.format.{Origin, StoreFolder, VersionRef}
import io.snapline.snapshot.upload.BackdatedSnapshot
import io.snapline.storage.{CheckpointStorage, LayeredStorage}

/** Makes backends that hold a version of one store. The caller owns them.
  *
  * @param check
  *   compares the origin of files read with the store's own
  */
private[snapshot] final class StateLoader(
    store: StoreContext,
    factory: BackendFactory,
    check: Origin => Unit
) {
  import store.{clock, origin, storage}

  private val log = LoggerFactory.getLogger(classOf[StateLoader])

  /** Where changelogs of interval durability are. */
  def own: CheckpointStorage =
    store.near.map(_.storage).getOrElse {
      throw new InternalError(s"The state in ${storage.location} has no folder for interval durability.")
    }

  def empty(version: Long): HeldState = {
    // A first version written beside another provider's files would be lost among them.
    val folder = StoreFolder.list(storage)
    folder.refuseForeign()
    folder.refs.foreach(ref => clock.observe(ref.uid))
    new HeldState(version, factory.open(factory.newFolder(), restored = false), None)
  }

  /** @see
    *   [[VersionedState.load]] for the other parameters
    * @param awaits
    *   another executor may be copying the version to storage just now
    */
  def load(
      version: Long,
      uid: Option[String],
      interval: Boolean,
      base: Option[VersionRef],
      ahead: Option[VersionRef],
      awaits: Boolean
  ): HeldState = {
    val backdated = ahead.map(backdate(_, version))
    val named = backdated.orElse(uid)
    val restored =
      if (interval) underInterval(version, named, base, deadline(awaits))
      else restoring(storage).restore(version, named)
    forCoordinator(adopt(restored), interval, base)
  }

  /** Damage of a later version's snapshot is damage of the version that it stands for. */
  private def backdate(of: VersionRef, version: Long): String =
    try new BackdatedSnapshot(storage, clock, origin).write(of, version).uid
    catch { case e: CheckpointDamaged => throw StateRestore.damaged(version, storage, e.found, e.action, e) }

  /** The state that storage would give, if somebody left it open, or an older one of its line.
    *
    * @param awaits
    *   as in `load`
    */
  def takeOver(
      leftOpen: LeftOpen,
      version: Long,
      uid: Option[String],
      interval: Boolean,
      base: Option[VersionRef],
      awaits: Boolean
  ): Option[TakenOver] = {
    val catchUp = new CatchUp(if (interval) layered else storage, clock, version, uid, deadline(awaits))
    leftOpen.take(catchUp.reaches).flatMap { left =>
      try {
        check(left.origin)
        left.held.ref.foreach(ref => clock.observe(ref.uid))
        val replayed = catchUp.run(left.held)
        Some(TakenOver(forCoordinator(left.held, interval, base), replayed))
      } catch {
        case e @ (_: StateNotFound | _: CheckpointDamaged) =>
          log.info(s"The state that was left open for ${storage.location} is of no use: ${e.getMessage}")
          left.close()
          None
        case e: Throwable =>
          left.close()
          throw e
      }
    }
  }

  def loadFrom(snapshotVersion: Long, snapshotUid: Option[String], version: Long, uid: Option[String]): HeldState =
    adopt(restoring(storage).restoreFrom(snapshotVersion, snapshotUid, version, uid))

  /** A snapshot that ends meanwhile takes the changelogs it covers along, and several may end one after the other: a
    * failure counts when the executor's folder is the same as before.
    *
    * @param base
    *   a snapshot that a complete checkpoint has: it was whole
    * @param deadline
    *   until then (System.nanoTime) storage may get what it lacks
    */
  @tailrec private def underInterval(
      version: Long,
      uid: Option[String],
      base: Option[VersionRef],
      deadline: Long
  ): Restored = {
    val before = nearFiles
    val restored =
      try Some(new StateRestore(layered, factory, check, !base.contains(_)).restore(version, uid))
      catch {
        case _: StateNotFound | _: CheckpointDamaged if nearFiles != before => None
        case _: StateNotFound | _: CheckpointDamaged if System.nanoTime() < deadline =>
          Thread.sleep(FolderWait.StepMs)
          None
      }
    restored match {
      case Some(found) => found
      case None => underInterval(version, uid, base, deadline)
    }
  }

  private def deadline(awaits: Boolean): Long = System.nanoTime() + (if (awaits) FolderWait.Nanos else 0)

  private def layered: CheckpointStorage = new LayeredStorage(own, storage)

  private def nearFiles: Set[String] = own.list("").map(_.name).toSet

  private def restoring(from: CheckpointStorage) = new StateRestore(from, factory, check)

  private def adopt(restored: Restored): HeldState = {
    restored.seen.foreach(ref => clock.observe(ref.uid))
    new HeldState(restored.ref.version, restored.backend, Some(restored))
  }

  /** The coordinator may delete files that it was not told of, so the next snapshot must not reuse them. */
  private def forCoordinator(held: HeldState, interval: Boolean, base: Option[VersionRef]): HeldState = {
    if (interval) held.reuseOnlyOf(base)
    held
  }
}

/** A state that another store had left open.
  *
  * @param replayed
  *   changelogs applied to it since
  */
private[snapshot] final case class TakenOver(held: HeldState, replayed: Int)
