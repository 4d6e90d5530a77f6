package io.snapline.state.rocksdb

import java.nio.ByteBuffer
import java.util.{Arrays, HashSet}

import io.snapline.state.PrefixLength
import io.snapline.state.timeindex.IndexMemory

/** All keys of each prefix that was scanned lately, so that the next scan of it needs no iterator of RocksDB. Such an
  * iterator costs as much as twenty rows, and the changes above RocksDB have to be applied first.
  *
  * Must be told of each key that comes or goes. Bounded by its memory: a prefix that was not used lately goes first.
  * Belongs to the thread that holds the backend.
  */
private[rocksdb] final class PrefixKeys(length: PrefixLength, all: IndexMemory) extends AutoCloseable {
  import PrefixKeys._

  private val memory = all.share
  private var known = new PrefixTable

  /** Counts how often RocksDB got all changes. */
  private var round = 1

  /** Prefixes of changes that RocksDB may not have yet, of those that are not known. */
  private val pending = new HashSet[ByteBuffer]
  private var anyPending = true

  /** Memory it takes. */
  def bytes: Long = memory.used

  /** The keys with this prefix, in ascending order, as copies; null if they are not known. */
  def find(prefix: Array[Byte]): Array[Array[Byte]] = {
    val at = known.find(prefix, 0, prefix.length)
    if (at < 0) null else KeyList.keys(known.list(at))
  }

  /** Whether a key is not there, for sure. */
  def lack(key: Array[Byte], offset: Int, size: Int): Boolean = !known.isEmpty && {
    val at = known.find(key, offset, length.of(key, offset, size))
    at >= 0 && KeyList.find(known.list(at), key, offset, size) < 0
  }

  /** Whether RocksDB has all changes of the keys with this prefix. */
  def isApplied(prefix: Array[Byte]): Boolean = !anyPending && !pending.contains(ByteBuffer.wrap(prefix))

  /** RocksDB has all changes so far. */
  def applied(): Unit = {
    pending.clear()
    anyPending = false
    round += 1
  }

  private def changed(key: Array[Byte], offset: Int, size: Int): Unit =
    if (pending.size == MostPending) anyPending = true
    else if (!anyPending && !pending.contains(ByteBuffer.wrap(key, offset, size))) {
      pending.add(ByteBuffer.wrap(Arrays.copyOfRange(key, offset, offset + size))): Unit
    }

  def learn(prefix: Array[Byte], keys: Array[Array[Byte]]): Unit = if (keys.length <= MostKeys) {
    while (memory.isFull && !known.isEmpty) forget(known.eldest())
    if (!memory.isFull) {
      val list = KeyList.of(prefix, keys)
      memory.take(bytesOf(list))
      known.add(list, round - 1)
    }
  }

  /** A key has come that was not there. */
  def added(key: Array[Byte], offset: Int, size: Int): Unit = {
    val prefix = length.of(key, offset, size)
    val at = known.find(key, offset, prefix)
    if (at < 0) changed(key, offset, prefix)
    else {
      val list = known.list(at)
      val place = KeyList.find(list, key, offset, size)
      known.changed(at, round)
      if (place >= 0 || KeyList.count(list) == MostKeys) forget(at)
      else replace(at, KeyList.added(list, -1 - place, key, offset, size))
    }
  }

  /** The value of a key that was there is another. */
  def updated(key: Array[Byte], offset: Int, size: Int): Unit = {
    val prefix = length.of(key, offset, size)
    val at = known.find(key, offset, prefix)
    if (at < 0) changed(key, offset, prefix) else known.changed(at, round)
  }

  /** A key has gone that was there. */
  def removed(key: Array[Byte], offset: Int, size: Int): Unit = {
    val prefix = length.of(key, offset, size)
    val at = known.find(key, offset, prefix)
    if (at < 0) changed(key, offset, prefix)
    else {
      val list = known.list(at)
      val place = KeyList.find(list, key, offset, size)
      known.changed(at, round)
      if (place < 0) forget(at) else replace(at, KeyList.removed(list, place))
    }
  }

  private def replace(at: Int, by: Array[Byte]): Unit = {
    memory.take(bytesOf(by) - bytesOf(known.list(at)))
    known.replace(at, by)
  }

  private def forget(at: Int): Unit = {
    val list = known.list(at)
    if (known.changedIn(at) == round) changed(list, KeyList.PrefixAt, KeyList.prefixSize(list))
    memory.give(bytesOf(list))
    known.remove(at)
  }

  /** Nothing is known any more. */
  override def close(): Unit = {
    anyPending = true
    pending.clear()
    known = new PrefixTable
    memory.give(memory.used)
  }
}

private[rocksdb] object PrefixKeys {

  /** A longer list would be copied too often. */
  val MostKeys = 64

  /** With more of them all changes are applied before the next scan. */
  val MostPending = 20000

  /** The list, and its share of the table. */
  private def bytesOf(list: Array[Byte]): Long = 40L + list.length
}
