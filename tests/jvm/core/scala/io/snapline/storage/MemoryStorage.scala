package io.snapline.storage

import java.io.ByteArrayOutputStream

import scala.collection.concurrent.TrieMap

import io.snapline.error.{StateNotFound, StorageFailure}

/** A folder in memory whose bytes a test may change. Any thread. */
final class MemoryStorage extends CheckpointStorage {
  val files: TrieMap[String, Array[Byte]] = TrieMap.empty
  val modified: TrieMap[String, Long] = TrieMap.empty

  /** Outputs neither closed nor abandoned. */
  @volatile var open = 0

  /** Fails the next write whose file's name ends so. */
  @volatile var failWriteTo: Option[String] = None

  /** What is abandoned stays. */
  @volatile var keepAbandoned = false

  override def location: String = "memory:/store"

  override def create(name: String): StoredOutput = synchronized {
    if (files.contains(name)) throw new StorageFailure(s"$name exists.", "do not.")
    files(name) = Array.emptyByteArray
    open += 1
    new Output(name)
  }

  private final class Output(name: String) extends StoredOutput {
    private val bytes = new ByteArrayOutputStream
    private var ended = false

    override def write(b: Int): Unit = write(Array(b.toByte), 0, 1)

    override def write(source: Array[Byte], offset: Int, length: Int): Unit = {
      if (failWriteTo.exists(name.endsWith)) {
        failWriteTo = None
        throw new StorageFailure(s"No room for $name.", "make some.")
      }
      bytes.write(source, offset, length)
    }

    private def end(): Unit = MemoryStorage.this.synchronized(if (!ended) { ended = true; open -= 1 })

    override def close(): Unit = {
      files(name) = bytes.toByteArray
      end()
    }

    override def abandon(): Unit = {
      if (!keepAbandoned) files -= name
      end()
    }

    override def release(): Unit = end()
  }

  override def open(name: String): StoredInput = {
    val bytes = files.getOrElse(name, throw new StateNotFound(s"$name does not exist.", "look elsewhere."))
    new StoredInput {
      override def length: Long = bytes.length.toLong
      override def readFully(position: Long, target: Array[Byte], offset: Int, count: Int): Unit = {
        if (position < 0 || position + count > bytes.length) throw new StorageFailure(s"$name ends before.", "look.")
        System.arraycopy(bytes, position.toInt, target, offset, count)
      }
      override def close(): Unit = ()
    }
  }

  override def list(folder: String): Seq[StoredFile] = {
    val prefix = if (folder.isEmpty) "" else s"$folder/"
    files.toSeq.collect {
      case (name, bytes) if name.startsWith(prefix) && !name.drop(prefix.length).contains('/') =>
        StoredFile(name, bytes.length.toLong, modified.getOrElse(name, System.currentTimeMillis()))
    }
  }

  override def delete(name: String): Boolean = files.remove(name).isDefined
}
