package io.snapline.spark.protocol

import scala.util.control.{NonFatal, NoStackTrace}

import io.snapline.checkpoint.{Acknowledgement, Decline, StateHandle, StoreId}
import io.snapline.snapshot.format.VersionRef

/** Checks the members of a message to the driver, which anybody may have sent. Names become paths of files that are
  * deleted, and numbers sizes of arrays. A field that was missing when the message was deserialized is null. A message
  * that passes may still be wrong: the coordinator sees that, for it knows the answers it waits for.
  */
private[spark] object MessageCheck {
  import DriverMessage._

  /** Why it is refused; None: nothing is wrong with it. */
  def refusal(message: AnyRef): Option[String] =
    try {
      check(message)
      None
    } catch {
      case e: Refused => Some(e.what)
      case NonFatal(e) => Some(e.toString)
    }

  private def check(message: AnyRef): Unit = message match {
    case ack: Acknowledgement =>
      checkIds(ack.query, ack.run, ack.checkpoint, ack.store)
      checkHandle(ack.handle)
    case decline: Decline =>
      checkIds(decline.query, decline.run, decline.checkpoint, decline.store)
      need(decline.reason != null, "reason")
      checkText(decline.message, LongestText, "message")
    case report: HoldersReport =>
      checkText(report.executor, LongestName, "executor")
      need(report.runs.lengthCompare(MostRuns) <= 0 && report.stores.lengthCompare(MostFiles) <= 0, "number of items")
      report.runs.foreach(checkUuid(_, "run"))
      report.stores.foreach { held =>
        checkUuid(held.run, "run")
        checkStore(held.store)
        checkRef(held.ref)
      }
    case report: BroadcastReport =>
      checkUuid(report.run, "run")
      checkNumber(report.operator, MostStores, "operator")
      checkNumber(report.version, MostVersions, "version")
      checkNumber(report.partition.toLong, MostStores, "partition")
      need(report.sums.lengthCompare(MostRuns) <= 0, "number of states")
      report.sums.foreach(sum => checkText(sum._1, LongestName, "state"))
    case asked: FirstRun =>
      checkUuid(asked.run, "run")
      checkNumber(asked.operator, MostStores, "operator")
      checkNumber(asked.batch, MostVersions, "batch")
      checkNumber(asked.partition.toLong, MostStores, "partition")
      checkNumber(asked.task, Long.MaxValue, "task")
    case Append(path, writer, position, bytes) =>
      checkText(path, LongestPath, "path")
      checkText(writer, LongestName, "writer")
      checkNumber(position.toLong, Int.MaxValue.toLong, "position")
      need(bytes.length <= LongestChunk, "number of bytes")
    case Finish(path, writer, length) =>
      checkText(path, LongestPath, "path")
      checkText(writer, LongestName, "writer")
      checkNumber(length.toLong, Int.MaxValue.toLong, "length")
    case Abandon(path, writer) =>
      checkText(path, LongestPath, "path")
      checkText(writer, LongestName, "writer")
    case Length(path) => checkText(path, LongestPath, "path")
    case Read(path, position, count) =>
      checkText(path, LongestPath, "path")
      checkNumber(position.toLong, Int.MaxValue.toLong, "position")
      checkNumber(count.toLong, LongestChunk.toLong, "count")
    case List(folder) => checkText(folder, LongestPath, "folder")
    case Delete(path) => checkText(path, LongestPath, "path")
    case _ => throw new Refused("kind")
  }

  private def checkIds(query: String, run: String, checkpoint: Long, store: StoreId): Unit = {
    checkUuid(query, "query")
    checkUuid(run, "run")
    checkNumber(checkpoint, MostVersions, "checkpoint")
    checkStore(store)
  }

  private def checkStore(store: StoreId): Unit = {
    checkNumber(store.operator, MostStores, "operator")
    checkNumber(store.partition.toLong, MostStores, "partition")
    checkText(store.store, LongestName, "store")
    need(StoreName.matches(store.store), "store")
  }

  private def checkHandle(handle: StateHandle): Unit = {
    checkRef(handle.ref)
    need(handle.files.lengthCompare(MostFiles) <= 0, "number of files")
    handle.files.foreach { file =>
      need(VersionRef.isUid(file.uid), "uid of a file")
      checkNumber(file.length, Long.MaxValue, "length of a file")
    }
    val sizes = Seq(handle.fullBytes, handle.uploadedBytes, handle.handleBytes, handle.uploadedFiles.toLong)
    (sizes ++ Seq(handle.syncMs, handle.asyncMs, handle.inFlightBytes)).foreach(checkNumber(
      _,
      Long.MaxValue,
      "size or time"
    ))
    handle.merged.foreach { place =>
      need(VersionRef.isUid(place.uid), "uid of a merged file")
      checkNumber(place.offset, Long.MaxValue, "offset")
    }
  }

  private def checkRef(ref: VersionRef): Unit = {
    checkNumber(ref.version, MostVersions, "version")
    need(VersionRef.isUid(ref.uid), "uid")
  }

  private def checkUuid(text: String, what: String): Unit = need(Uuid.matches(text), what)

  private def checkText(text: String, longest: Int, what: String): Unit = need(text.length <= longest, what)

  private def checkNumber(number: Long, most: Long, what: String): Unit = need(number >= 0 && number <= most, what)

  private def need(holds: Boolean, what: String): Unit = if (!holds) throw new Refused(what)

  private final class Refused(val what: String) extends RuntimeException with NoStackTrace

  private val Uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".r
  private val StoreName = "[A-Za-z0-9][A-Za-z0-9_.-]*".r

  /** The greatest that the names of files can hold (docs/FORMAT.md section 1). */
  private val MostStores = 999999999L
  private val MostVersions = 999999999999999999L
  private val MostRuns = 10000
  private val MostFiles = 1000000
  private val LongestName = 1000
  private val LongestPath = 10000
  private val LongestText = 1000000
  private val LongestChunk = 16 << 20
}
