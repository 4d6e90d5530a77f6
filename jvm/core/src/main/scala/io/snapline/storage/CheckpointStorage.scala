package io.snapline.storage

import java.io.OutputStream
import java.util.zip.CRC32C

/** @param name relative to the storage's folder, `/` between parts */
final case class StoredFile(name: String, length: Long, modified: Long)

/** A file that is being written under its final name. Owned by the writer, who calls exactly one of `close`, `abandon`
  * and `release`.
  */
abstract class StoredOutput extends OutputStream {

  /** The file is durable and as long as what was written when this returns. */
  override def close(): Unit

  /** Removes what was written, as far as that is possible; never throws. */
  def abandon(): Unit

  /** Ends without removing anything: somebody else may have a file of this name by now. A part of the file may stay.
    * Never throws.
    */
  def release(): Unit
}

/** A file that is read at any position. Owned by the reader, who closes it. */
trait StoredInput extends AutoCloseable {
  def length: Long

  /** Fails if the file ends before. */
  def readFully(position: Long, target: Array[Byte], offset: Int, count: Int): Unit

  /** Reads all of it in order: calls `each(bytes, count)`, and returns the CRC-32C. */
  def readAll(each: (Array[Byte], Int) => Unit): Int = {
    val crc = new CRC32C
    val buffer = new Array[Byte](math.min(1L << 20, math.max(1L, length)).toInt)
    var at = 0L
    while (at < length) {
      val count = math.min(buffer.length.toLong, length - at).toInt
      readFully(at, buffer, 0, count)
      crc.update(buffer, 0, count)
      each(buffer, count)
      at += count
    }
    crc.getValue.toInt
  }

  /** Writes all of it to an output, and closes that. Returns the CRC-32C.
    *
    * @param failed
    *   ends the output where something fails
    */
  def copyTo(output: StoredOutput, failed: StoredOutput => Unit = _.abandon()): Int =
    try {
      val crc = readAll(output.write(_, 0, _))
      output.close()
      crc
    } catch { case e: Throwable => failed(output); throw e }

  override def close(): Unit
}

/** A folder for files that are written once and never changed. Every failure is a `StorageFailure`; a missing file is a
  * `StateNotFound`. Any thread.
  */
trait CheckpointStorage {

  /** For messages. */
  def location: String

  /** Where a person finds a file; for messages. */
  def path(name: String): String = s"$location/$name"

  /** Refuses a name that exists. Makes folders as needed. */
  def create(name: String): StoredOutput

  def open(name: String): StoredInput

  /** Files directly in the folder (empty name: the storage's own); none if it does not exist. */
  def list(folder: String): Seq[StoredFile]

  /** Names of files of this folder that lie within other files, of those that begin so; `list` does not have them,
    * `open` finds them.
    *
    * @param missing
    *   the folder itself has none: they are worth looking for, whatever it costs
    */
  def packed(prefix: String, missing: Boolean): Seq[String] = Nil

  /** Whether the file was there. */
  def delete(name: String): Boolean

  /** Another place that has the same files, for when they are damaged here. */
  def fallback: Option[CheckpointStorage] = None
}
