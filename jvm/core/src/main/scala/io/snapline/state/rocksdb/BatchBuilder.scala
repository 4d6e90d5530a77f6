package io.snapline.state.rocksdb

import io.snapline.error.InternalError
import io.snapline.state.rowtable.{Entry, Op}

/** Builds a RocksDB write batch in its serialized form on the heap, so that thousands of changes cross JNI in one call.
  *
  * The form is RocksDB's (`db/write_batch.cc`): 8 bytes sequence, 4 bytes count, then records
  * `tag, varint family, key, value` with length-prefixed strings.
  *
  * @param expected
  *   bytes of the changes that will be added; it may hold more
  */
final class BatchBuilder(expected: Int) {
  private var bytes = new Array[Byte](BatchBuilder.HeaderBytes + math.min(expected, BatchBuilder.Target) + 512)
  private var used = BatchBuilder.HeaderBytes
  private var count = 0

  def isEmpty: Boolean = count == 0

  def isFull: Boolean = used >= BatchBuilder.Target

  def add(page: Array[Byte], entry: Entry, nativeFamily: Int): Unit = {
    val tag = entry.op match {
      case Op.Put => BatchBuilder.Value
      case Op.Delete => BatchBuilder.Deletion
      case Op.Merge => BatchBuilder.Merge
      case Op.DeleteRange => BatchBuilder.RangeDeletion
      case other => throw new InternalError(s"Operation $other is queued for RocksDB.")
    }
    ensure(16 + entry.keyLength + entry.valueLength)
    bytes(used) = tag
    used = Entry.writeVarint(bytes, used + 1, nativeFamily)
    string(page, entry.keyOffset, entry.keyLength)
    if (entry.op != Op.Delete) string(page, entry.valueOffset, entry.valueLength)
    count += 1
  }

  /** The batch so far; starts a new one. */
  def take(): Array[Byte] = {
    var i = 0
    while (i < 4) {
      bytes(8 + i) = (count >>> (8 * i)).toByte
      i += 1
    }
    val batch = java.util.Arrays.copyOf(bytes, used)
    used = BatchBuilder.HeaderBytes
    count = 0
    batch
  }

  private def string(source: Array[Byte], offset: Int, length: Int): Unit = {
    used = Entry.writeVarint(bytes, used, length)
    System.arraycopy(source, offset, bytes, used, length)
    used += length
  }

  private def ensure(more: Int): Unit =
    if (bytes.length - used < more) bytes = java.util.Arrays.copyOf(bytes, math.max(bytes.length * 2, used + more))
}

object BatchBuilder {
  private val HeaderBytes = 12
  private val Target = 1 << 18
  private val Deletion: Byte = 0x4
  private val Value: Byte = 0x5
  private val Merge: Byte = 0x6
  private val RangeDeletion: Byte = 0xe
}
