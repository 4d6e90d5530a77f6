package io.snapline.state.timeindex

import java.io._
import java.nio.ByteBuffer
import java.util.ArrayList

import io.snapline.error.StorageFailure

/** Entries of one span of time, in the order they came: 8 bytes time, 4 bytes length, key.
  *
  * Owns its chunks, and a file where memory is full. One thread.
  *
  * @param newFile
  *   a name on the local disk that nobody uses; the bucket deletes the file
  */
private[timeindex] final class TimeBucket(memory: IndexMemory, newFile: () => File) {
  import TimeBucket._

  private val full = new ArrayList[ByteBuffer]
  private var chunk = taken(Smallest)
  private var file: File = _
  private var count = 0L

  def size: Long = count

  def add(time: Long, key: Array[Byte], offset: Int, length: Int): Unit = {
    if (chunk.remaining < EntryBytes + length) makeRoom(EntryBytes + length)
    chunk.putLong(time).putInt(length).put(key, offset, length): Unit
    count += 1
  }

  private def makeRoom(size: Int): Unit =
    if (memory.isFull && chunk.position() >= LeastWritten) {
      append()
      if (chunk.capacity < size) replaceChunk(size)
    } else if (chunk.capacity < Largest) {
      val small = chunk
      chunk = taken(math.max(small.capacity * 2, small.position() + size))
      chunk.put(small.flip()): Unit
      memory.give(small.capacity)
    } else {
      full.add(chunk.flip()): Unit
      chunk = taken(math.max(Largest, size))
    }

  private def replaceChunk(size: Int): Unit = {
    memory.give(chunk.capacity)
    chunk = taken(size)
  }

  private def taken(bytes: Int): ByteBuffer = {
    memory.take(bytes)
    ByteBuffer.allocate(bytes)
  }

  /** Moves all chunks to the file; the last one is used again. */
  private def append(): Unit = {
    if (file == null) file = newFile()
    try {
      val to = new FileOutputStream(file, true)
      try {
        full.forEach(each => to.write(each.array, 0, each.limit))
        to.write(chunk.array, 0, chunk.position())
      } finally to.close()
    } catch { case e: IOException => throw failed("written", e) }
    full.forEach(each => memory.give(each.capacity))
    full.clear()
    chunk.clear(): Unit
  }

  /** Every entry, in the order they came. */
  def foreach(entry: (Long, Array[Byte]) => Unit): Unit = {
    if (file != null) readFile(entry)
    full.forEach(each => read(each.duplicate(), entry))
    read(chunk.duplicate().flip(), entry)
  }

  private def read(from: ByteBuffer, entry: (Long, Array[Byte]) => Unit): Unit = while (from.hasRemaining) {
    val time = from.getLong
    val key = new Array[Byte](from.getInt)
    from.get(key): Unit
    entry(time, key)
  }

  private def readFile(entry: (Long, Array[Byte]) => Unit): Unit =
    try {
      val from = new DataInputStream(new BufferedInputStream(new FileInputStream(file), Largest))
      try {
        var left = file.length()
        while (left > 0) {
          val time = from.readLong()
          val key = new Array[Byte](from.readInt())
          from.readFully(key)
          left -= EntryBytes + key.length
          entry(time, key)
        }
      } finally from.close()
    } catch { case e: IOException => throw failed("read", e) }

  private def failed(verb: String, e: IOException): StorageFailure = new StorageFailure(
    s"A file of a time index could not be $verb: ${e.getMessage}.",
    "free space on the executor's local disk (spark.local.dir); the task is retried.",
    e
  )

  /** May be called again. */
  def close(): Unit = {
    full.forEach(each => memory.give(each.capacity))
    full.clear()
    memory.give(chunk.capacity)
    chunk = ByteBuffer.allocate(0)
    if (file != null) file.delete(): Unit
    file = null
  }
}

private object TimeBucket {
  val EntryBytes = 12
  val Smallest = 512
  val Largest: Int = 64 << 10

  /** Shorter writes would cost more than they free. */
  val LeastWritten: Int = 4 << 10
}
