package io.snapline.spark.protocol

import java.util.UUID

import io.snapline.error.{StateNotFound, StorageFailure}
import io.snapline.storage.{CheckpointStorage, StoredFile, StoredInput, StoredOutput}

/** A folder in the driver's memory, for a store on an executor. Owns nothing. */
private[spark] final class DriverMemoryStorage(folder: String, driver: DriverChannel) extends CheckpointStorage {
  import DriverMemoryStorage._
  import DriverMessage._

  override def location: String = s"the driver's memory ($folder)"

  override def create(name: String): StoredOutput = new StoredOutput {
    private val path = place(name)
    private val writer = UUID.randomUUID().toString
    private val chunk = new Array[Byte](ChunkBytes)
    private var used = 0
    private var sent = 0L

    if (length(path) >= 0) throw failure(s"$path exists already")

    override def write(b: Int): Unit = write(Array(b.toByte), 0, 1)

    override def write(source: Array[Byte], offset: Int, length: Int): Unit = {
      var from = offset
      while (from < offset + length) {
        if (used == ChunkBytes) send()
        val count = math.min(ChunkBytes - used, offset + length - from)
        System.arraycopy(source, from, chunk, used, count)
        used += count
        from += count
      }
    }

    private def send(): Unit = if (used > 0) {
      if (sent + used > Int.MaxValue - 16) throw failure(s"$path is longer than one array")
      expect(path, Append(path, writer, sent.toInt, java.util.Arrays.copyOf(chunk, used)))
      sent += used
      used = 0
    }

    override def close(): Unit = {
      send()
      expect(path, Finish(path, writer, sent.toInt))
    }

    override def abandon(): Unit =
      try driver.ask(Abandon(path, writer)): Unit
      catch { case _: Exception => () }

    /** The driver drops what this writer has sent, and nothing else. */
    override def release(): Unit = abandon()
  }

  override def open(name: String): StoredInput = {
    val path = place(name)
    val there = length(path)
    if (there < 0) throw missing(path)
    new StoredInput {
      override val length: Long = there

      override def readFully(position: Long, target: Array[Byte], offset: Int, count: Int): Unit = {
        var read = 0
        while (read < count) {
          val want = math.min(ChunkBytes, count - read)
          driver.ask(Read(path, (position + read).toInt, want)) match {
            case bytes: Array[Byte] => System.arraycopy(bytes, 0, target, offset + read, want)
            case _ => throw missing(path)
          }
          read += want
        }
      }

      override def close(): Unit = ()
    }
  }

  override def list(of: String): Seq[StoredFile] = {
    val prefix = if (of.isEmpty) "" else s"$of/"
    driver.ask(List(if (of.isEmpty) folder else place(of))) match {
      case Array(names: Array[String], lengths: Array[Long], modified: Array[Long]) =>
        names.indices.map(i => StoredFile(prefix + names(i), lengths(i), modified(i)))
      case other => throw failure(s"a list of $folder was answered with $other")
    }
  }

  override def delete(name: String): Boolean = driver.ask(Delete(place(name))) == java.lang.Boolean.TRUE

  private def place(name: String): String = s"$folder/$name"

  private def length(path: String): Long = driver.ask(Length(path)) match {
    case length: java.lang.Long => length
    case other => throw failure(s"the length of $path was answered with $other")
  }

  private def expect(path: String, message: DriverMessage): Unit = driver.ask(message) match {
    case java.lang.Boolean.TRUE => ()
    case reason: String => throw failure(reason)
    case _ => throw failure(s"the driver has no longer what was written of $path")
  }

  private def missing(path: String): StateNotFound =
    new StateNotFound(
      s"$path is not in the driver's memory.",
      "start the query with a new checkpoint if its driver has ended."
    )

  private def failure(what: String): StorageFailure =
    new StorageFailure(s"The driver's memory refused: $what.", "nothing; the task is tried again.")
}

private object DriverMemoryStorage {

  /** Far below what Spark lets one message hold. */
  val ChunkBytes: Int = 1 << 20
}
