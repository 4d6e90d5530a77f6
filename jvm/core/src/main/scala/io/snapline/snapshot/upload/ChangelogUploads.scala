package io.snapline.snapshot.upload

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.error.StateNotFound
import io.snapline.snapshot.format.VersionRef
import io.snapline.storage.CheckpointStorage

/** Copies the changelogs that the commits of one store leave in the executor's folder to storage, behind the batch.
  *
  * In the order of the commits, and none after one that could not be copied: a whole changelog in storage says that all
  * before it are there, from the newest complete checkpoint on. Removes its copies when a checkpoint has them. Any
  * thread.
  *
  * @param near
  *   the executor's folder
  * @param storage
  *   the store's folder in the checkpoint
  */
private[snapshot] final class ChangelogUploads(
    near: CheckpointStorage,
    storage: CheckpointStorage,
    pool: SnapshotPool
) {
  import ChangelogUploads._

  private val log = LoggerFactory.getLogger(classOf[ChangelogUploads])
  private val waiting = mutable.Queue.empty[VersionRef]
  private val copied = mutable.Queue.empty[VersionRef]

  /** The newest version that a complete checkpoint has. */
  private var covered = 0L

  /** The version whose changelog went before it was copied. */
  private var gap: Option[Long] = None

  /** Storage has refused the last one: the next commit tries again. */
  private var isRefused = false

  /** The one that was refused last: a part of it may be there. */
  private var partial: Option[VersionRef] = None
  private var runs = false

  /** The changelog of this version is whole. */
  def add(ref: VersionRef): Unit = synchronized {
    waiting.enqueue(ref)
    isRefused = false
    begin()
  }

  /** A complete checkpoint has this version: no changelog up to it is needed. */
  def cover(version: Long): Unit = synchronized {
    if (version > covered) {
      covered = version
      gap = gap.filter(_ > version)
      begin()
    }
  }

  /** Waits, so long at most, until nothing is being copied that can be. */
  def await(millis: Long): Unit = synchronized {
    val deadline = System.nanoTime() + millis * 1000000
    while (runs && System.nanoTime() < deadline) wait(math.max(1, (deadline - System.nanoTime()) / 1000000))
  }

  private def begin(): Unit = if (!runs) {
    runs = true
    try pool.submit(() => run())
    catch {
      case e: Throwable =>
        stopped()
        throw e
    }
  }

  private def run(): Unit =
    try {
      var step = next()
      while (step.isDefined) {
        step.foreach {
          case Copy(ref) => copy(ref)
          case Remove(ref) => remove(ref)
        }
        step = next()
      }
    } catch {
      // Else no later commit would begin it again.
      case e: Throwable =>
        stopped()
        throw e
    }

  private def stopped(): Unit = synchronized {
    runs = false
    notifyAll()
  }

  private def next(): Option[Step] = synchronized {
    while (waiting.headOption.exists(_.version <= covered)) waiting.dequeue(): Unit
    val step =
      if (copied.headOption.exists(_.version <= covered)) Some(Remove(copied.dequeue()))
      else waiting.headOption.filter(_ => gap.isEmpty && !isRefused).map(Copy(_))
    if (step.isEmpty) stopped()
    step
  }

  private def copy(ref: VersionRef): Unit =
    try {
      // Nobody else writes a file of this name, and a part of one is of no use.
      if (partial.contains(ref)) storage.delete(ref.changelogName): Unit
      write(ref.changelogName)
      synchronized {
        waiting.dequeue(): Unit
        copied.enqueue(ref)
      }
    } catch {
      case _: StateNotFound =>
        log.info(s"The changelog $ref of ${storage.location} went before it was copied: a restart replays its batch.")
        synchronized { gap = Some(ref.version) }
      case NonFatal(e) =>
        log.warn(s"The changelog $ref of ${storage.location} was not copied. The next commit tries again.", e)
        synchronized {
          isRefused = true
          partial = Some(ref)
        }
    }

  private def write(name: String): Unit = {
    val from = near.open(name)
    try from.copyTo(storage.create(name)): Unit
    finally from.close()
  }

  /** One that stays is found by the sweep of the query's driver. */
  private def remove(ref: VersionRef): Unit =
    try storage.delete(ref.changelogName): Unit
    catch { case NonFatal(e) => log.warn(s"The changelog $ref in ${storage.location} was not removed.", e) }
}

private object ChangelogUploads {
  private sealed trait Step
  private final case class Copy(ref: VersionRef) extends Step
  private final case class Remove(ref: VersionRef) extends Step
}
