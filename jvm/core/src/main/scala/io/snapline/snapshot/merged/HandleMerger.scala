package io.snapline.snapshot.merged

import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.error.StorageFailure
import io.snapline.snapshot.format.{Frame, FrameWriter, UidClock, VersionRef}
import io.snapline.storage.CheckpointStorage

/** Puts the handles that the stores of an executor make for one checkpoint of a query into one file, or a few
  * (docs/notes/008-file-merging.md).
  *
  * Owns a thread, which writes, runs what waits for a handle, and ends when idle. Nobody who hands a handle over waits
  * for it. Any thread.
  *
  * @param storage
  *   the folder `snapline/merged` of the query
  * @param maxFileSize
  *   bytes of handles in one file
  * @param lingerMs
  *   from the last handle to the end of a file that nobody is known to have a part in any more
  * @param patienceMs
  *   the same when somebody has
  * @param idleMs
  *   until the thread ends
  */
final class HandleMerger(
    storage: CheckpointStorage,
    maxFileSize: Long,
    writer: String,
    lingerMs: Long = HandleMerger.LingerMs,
    patienceMs: Long = HandleMerger.PatienceMs,
    idleMs: Long = HandleMerger.IdleMs,
    nanoTime: () => Long = () => System.nanoTime()
) {
  import HandleMerger._

  private val log = LoggerFactory.getLogger(classOf[HandleMerger])
  private val clock = new UidClock
  private val groups = mutable.LinkedHashMap.empty[Long, Group]
  private var unwritten = 0L
  private var ticking = false
  private val worker = {
    val executor = new ScheduledThreadPoolExecutor(
      1,
      (task: Runnable) => {
        val thread = new Thread(task, "snapline-merge")
        thread.setDaemon(true)
        thread
      }
    )
    executor.setKeepAliveTime(idleMs, TimeUnit.MILLISECONDS)
    executor.allowCoreThreadTimeOut(true)
    executor
  }

  /** Somebody has a part in the file of a version: it waits for the handle, until this is closed. */
  def expect(version: Long): AutoCloseable = {
    val group = change(version)(_.expected += 1)
    val open = new AtomicBoolean(true)
    () => if (open.getAndSet(false)) synchronized(touch(group)(_.expected -= 1))
  }

  /** Whether a handle of so many bytes would be taken now. */
  def hasRoom(bytes: Long): Boolean =
    synchronized(bytes <= maxFileSize && unwritten + bytes <= maxFileSize * UnwrittenFiles)

  /** Takes a handle, and returns at once.
    *
    * @param done
    *   told where the handle is when it is durable, or why it is not; on the merger's thread
    */
  def add(store: String, ref: VersionRef, bytes: Array[Byte])(done: Either[Exception, MergedPlace] => Unit): Unit =
    change(ref.version) { group =>
      if (group.bytes + bytes.length > maxFileSize) close(group)
      group.members += Waiting(store, ref, bytes, done)
      unwritten += bytes.length
    }: Unit

  /** A version that comes again after its end gets another group and another file. */
  private def change(version: Long)(body: Group => Unit): Group = synchronized {
    val group = groups.getOrElseUpdate(version, new Group(version))
    touch(group)(body)
    if (!ticking) {
      ticking = true
      schedule()
    }
    group
  }

  private def touch(group: Group)(body: Group => Unit): Unit = {
    body(group)
    group.changed = nanoTime()
  }

  private def schedule(): Unit =
    worker.schedule((() => round()): Runnable, lingerMs / 4 + 1, TimeUnit.MILLISECONDS): Unit

  private def round(): Unit = synchronized {
    tick()
    if (ticking) schedule()
  }

  /** Closes the files that have waited long enough. */
  private[merged] def tick(): Unit = synchronized {
    val now = nanoTime()
    groups.values.toSeq.filter(_.isOver(now, lingerMs, patienceMs)).foreach { group =>
      close(group)
      groups -= group.version
    }
    ticking = groups.nonEmpty
  }

  private def close(group: Group): Unit = if (group.members.nonEmpty) {
    val members = group.members.toSeq
    group.members.clear()
    worker.execute(() => write(group.version, members))
  }

  private def write(version: Long, members: Seq[Waiting]): Unit = {
    val outcome =
      try Right(writeFile(VersionRef(version, clock.next()), members))
      catch {
        case e: Exception => Left(e)
        case e: Throwable =>
          Left(new StorageFailure(s"A merged file could not be written: $e.", "see the executor's log.", e))
      }
    outcome match {
      case Right(file) =>
        log.info(s"${members.size} handles of version $version are in ${storage.location}/${file.ref.mergedName}.")
      case Left(e) =>
        log.warn(s"${members.size} handles of version $version were not written to ${storage.location}.", e)
    }
    synchronized { unwritten -= members.map(_.bytes.length.toLong).sum }
    members.zipWithIndex.foreach { case (member, at) =>
      try member.done(outcome.map(file => file.place(file.members(at))))
      catch { case NonFatal(e) => log.warn(s"What follows the handle ${member.ref} of ${member.store} failed.", e) }
    }
  }

  /** Whole and durable when it returns. */
  private def writeFile(ref: VersionRef, members: Seq[Waiting]): MergedFile = {
    val frame = new FrameWriter(storage.create(ref.mergedName), Frame.MergedMagic, compress = false)
    try {
      val index = members.map { member =>
        val offset = frame.bytesWritten + Frame.BlockHeaderBytes
        frame.block(member.bytes, 0, member.bytes.length)
        MergedMember(member.store, member.ref, offset, member.bytes.length)
      }
      val file = MergedFile(ref, index, System.currentTimeMillis(), writer)
      frame.finish(file.bytes)
      file
    } catch { case e: Throwable => frame.abandon(); throw e }
  }
}

object HandleMerger {

  /** From one task of a stage to the next on the same core it takes less. */
  val LingerMs = 1000L
  val PatienceMs = 10000L
  val IdleMs = 5000L

  /** So many files' worth of handles may wait to be written. */
  private val UnwrittenFiles = 2

  private final case class Waiting(
      store: String,
      ref: VersionRef,
      bytes: Array[Byte],
      done: Either[Exception, MergedPlace] => Unit
  )

  /** Handles of one version that have come since its last file, and how many are known to come. */
  private final class Group(val version: Long) {
    val members = mutable.ArrayBuffer.empty[Waiting]
    var expected = 0
    var changed = 0L

    def bytes: Long = members.map(_.bytes.length.toLong).sum

    def isOver(now: Long, lingerMs: Long, patienceMs: Long): Boolean = {
      val idle = TimeUnit.NANOSECONDS.toMillis(now - changed)
      idle >= (if (expected > 0) patienceMs else lingerMs)
    }
  }
}
