package io.snapline.storage

import java.io.ByteArrayOutputStream

import scala.collection.concurrent.TrieMap

import io.snapline.error.{StateNotFound, StorageFailure}

/** A few files in memory: for bytes that are framed before it is known which file they go to, or that were read as part
  * of another. Any thread.
  *
  * @param location
  *   for messages
  */
final class ArrayStorage(val location: String, content: Map[String, Array[Byte]] = Map.empty)
    extends CheckpointStorage {
  private val files = TrieMap.from(content)

  /** The bytes of a file that was closed. */
  def bytes(name: String): Array[Byte] = files.getOrElse(name, throw missing(name))

  override def create(name: String): StoredOutput = {
    if (files.contains(name)) throw new StorageFailure(s"$location/$name exists.", "report this.")
    val buffer = new ByteArrayOutputStream
    new StoredOutput {
      override def write(b: Int): Unit = buffer.write(b)
      override def write(source: Array[Byte], offset: Int, length: Int): Unit = buffer.write(source, offset, length)
      override def close(): Unit = files(name) = buffer.toByteArray
      override def abandon(): Unit = files -= name
      override def release(): Unit = ()
    }
  }

  override def open(name: String): StoredInput = {
    val whole = bytes(name)
    new StoredInput {
      override def length: Long = whole.length.toLong
      override def readFully(position: Long, target: Array[Byte], offset: Int, count: Int): Unit =
        System.arraycopy(whole, position.toInt, target, offset, count)
      override def close(): Unit = ()
    }
  }

  override def list(folder: String): Seq[StoredFile] =
    files.toSeq.filter(_ => folder.isEmpty).map { case (name, bytes) => StoredFile(name, bytes.length.toLong, 0) }

  override def delete(name: String): Boolean = files.remove(name).isDefined

  private def missing(name: String) =
    new StateNotFound(s"$location/$name does not exist.", "check the checkpoint's path.")
}
