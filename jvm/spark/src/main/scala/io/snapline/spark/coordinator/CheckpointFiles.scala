package io.snapline.spark.coordinator

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator}
import io.snapline.spark.protocol.{CheckpointFolder, LogEntries}
import io.snapline.spark.settings.SparkLineCheck

/** Changes a query's checkpoint folder as its coordinator asks: writes `_metadata`, deletes files, purges logs. On the
  * coordinator's thread. Checks before each change that no other driver has taken the folder over: by the count of this
  * one, nobody names files that the other builds on.
  *
  * @param durableBatches
  *   handles belong to the stores then, which keep what checkpoints name
  */
private[coordinator] final class CheckpointFiles(
    folder: CheckpointFolder,
    claim: DriverClaim,
    logs: SparkLogs,
    alignments: BatchAlignment,
    durableBatches: Boolean,
    maxParallelism: Int
) {
  val deletions = new Deletions(deleteOwn, folder.location)

  /** The sound checkpoints in the folder, the oldest first. */
  def completed: Seq[CompletedCheckpoint] =
    folder.completed().map { case (metadata, bytes) => metadata.completed(bytes) }

  /** Makes a checkpoint exist: reads back all that it names, then writes its `_metadata`.
    *
    * @param operators
    *   names of the stateful operators
    * @return
    *   length of the metadata, or why there is none
    */
  def complete(query: String, p: PendingCheckpoint, operators: Map[Long, String]): Either[String, Long] =
    try {
      claim.check()
      try {
        folder.verify(p.handles)
        val whole = metadata(query, p, operators, folder.entries(p.batch))
        // Reading all of it back may have taken long.
        claim.check()
        Right(folder.write(whole))
      } catch { case NonFatal(e) => Left(s"${e.getClass.getSimpleName}: ${e.getMessage}") }
    } catch { case NonFatal(e) => Left(e.getMessage) }

  private def metadata(
      query: String,
      p: PendingCheckpoint,
      operators: Map[Long, String],
      entries: LogEntries
  ): CheckpointMetadata = CheckpointMetadata.of(
    query,
    p,
    operators,
    System.currentTimeMillis(),
    entries.offsets,
    entries.commit,
    entries.watermarkMs,
    maxParallelism,
    WriterVersions(SparkLineCheck.version, org.apache.spark.SPARK_VERSION)
  )

  /** @param reading
    *   number of the reading of the folder from which the deletion follows
    */
  def delete(wanted: Action.Delete, reading: Int): Unit =
    if (durableBatches) {
      val merged = wanted.handles.collect { case file: MergedHandles => file }
      deletions.add(wanted.copy(handles = merged, tables = Nil), reading)
    } else deletions.add(wanted, reading)

  /** Removes the checkpoints after one, but for savepoints. The caller sees to it that none is added meanwhile.
    *
    * @return
    *   the greatest number that a checkpoint had
    */
  def removeAfter(checkpoint: Long, settings: CoordinatorSettings, nowMs: Long): Long = {
    claim.check()
    val highest = folder.highestId
    val gone = deletions.anew {
      val found = completed
      val count = new CheckpointCoordinator(folder.queryId, settings)
      count.started("", found, highest, Some(checkpoint), nowMs): Unit
      found.filter(_.isAbandonedBy(checkpoint)).flatMap(c => count.disposed(c.id))
    }
    gone.foreach {
      case wanted: Action.Delete => delete(wanted, deletions.reading)
      case _ => () // the logs stay until a checkpoint completes
    }
    highest
  }

  private def deleteOwn(what: Action.Delete): Unit = {
    claim.check()
    folder.delete(what)
  }

  /** Removes what no replay reads that begins with this batch or a later one. */
  def purge(batch: Long): Unit = {
    claim.check()
    logs.purge(batch - 1)
    alignments.purge(batch)
  }

  /** The same where batches are durable by themselves, whatever the checkpoints are.
    *
    * @param named
    *   batches of checkpoints
    */
  def purgeCuts(named: => Set[Long]): Unit = {
    claim.check()
    alignments.purgeBelowLog(named)
  }

  /** Removes files that crashes and failed attempts have left. */
  def sweep(named: Seq[CompletedCheckpoint], oldestVersion: Long, isNamed: NamedFile => Boolean): Unit = {
    claim.check()
    folder.sweep(named, oldestVersion, isNamed)
  }
}

/** The deletions that a query's coordinator wants, in its order. One that fails holds up those behind it: they may name
  * files that a `_metadata` which is still there names too.
  *
  * Each belongs to a reading of the checkpoint folder: when it is read anew, older deletions are forgotten, because the
  * new count knows nothing of them. Any thread.
  */
private[spark] final class Deletions(delete: Action.Delete => Unit, where: String) {
  private val log = LoggerFactory.getLogger(classOf[Deletions])
  private val waiting = mutable.Queue.empty[Action.Delete]
  @volatile private var readings = 0

  /** The reading of the folder that counts now. Waits for no deletion. */
  def reading: Int = readings

  /** Nothing is deleted while the folder is read, and nothing afterwards that was wanted before. */
  def anew[A](read: => A): A = synchronized {
    forget()
    read
  }

  /** The deletions wanted until now follow from an older reading. The reader of the folder calls this once more, when
    * it counts what it has read.
    */
  def forget(): Unit = synchronized {
    readings += 1
    waiting.clear()
  }

  /** @param wanted the reading that it follows from */
  def add(action: Action.Delete, wanted: Int): Unit = synchronized {
    if (wanted == readings) {
      waiting.enqueue(action)
      run()
    }
  }

  /** Tries again what failed. */
  def run(): Unit = synchronized {
    var going = true
    while (going && waiting.nonEmpty) {
      try {
        delete(waiting.head)
        waiting.dequeue(): Unit
      } catch {
        case NonFatal(e) =>
          going = false
          log.warn(
            s"Files of checkpoint ${waiting.head.checkpoint} of $where could not be deleted; ${waiting.size} deletions wait.",
            e
          )
      }
    }
  }
}
