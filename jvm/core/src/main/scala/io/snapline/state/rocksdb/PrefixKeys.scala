package io.snapline.state.rocksdb

import java.nio.ByteBuffer
import java.util.{Arrays, HashSet}

import io.snapline.state.PrefixLength
import io.snapline.state.rowtable.RowIndex
import io.snapline.state.timeindex.IndexMemory

/** All keys of each prefix that was used lately, so that the next scan of it needs no iterator of RocksDB. Such an
  * iterator costs as much as twenty rows, and the changes above RocksDB have to be applied first. `unlisted` tells
  * which other prefixes have no key: their scans need none either.
  *
  * Must be told of each key that comes or goes. Bounded by its memory: a prefix that was not used lately goes first.
  * Belongs to the thread that holds the backend.
  */
private[rocksdb] final class PrefixKeys(length: PrefixLength, all: IndexMemory, unlisted: LearnedFilter)
    extends AutoCloseable {
  import PrefixKeys._

  private val memory = all.share
  private var known = new PrefixTable

  /** Counts how often RocksDB got all changes. */
  private var round = 1

  /** Prefixes of changes that RocksDB may not have yet, of those that are not known. */
  private val pending = new HashSet[ByteBuffer]
  private var anyPending = true

  /** Lists of prefixes that nobody scans would be for nothing. */
  private var scanned = false

  /** Memory it takes. */
  def bytes: Long = memory.used + unlisted.bytes

  /** The keys with this prefix, in ascending order, as copies; null if they are not known. */
  def find(prefix: Array[Byte]): Array[Array[Byte]] = {
    scanned = true
    val at = known.find(prefix, 0, prefix.length)
    if (at >= 0) KeyList.keys(known.list(at)) else if (isAbsent(prefix, 0, prefix.length)) NoKeys else null
  }

  /** Whether a key is not there, for sure. */
  def lack(key: Array[Byte], offset: Int, size: Int): Boolean = {
    val prefix = length.of(key, offset, size)
    val at = known.find(key, offset, prefix)
    if (at >= 0) KeyList.find(known.list(at), key, offset, size) < 0 else isAbsent(key, offset, prefix)
  }

  /** A prefix that has no list. */
  private def isAbsent(bytes: Array[Byte], offset: Int, size: Int): Boolean =
    !unlisted.mayHave(RowIndex.hash(0, bytes, offset, size))

  private def unlist(bytes: Array[Byte], offset: Int, size: Int): Unit =
    unlisted.add(RowIndex.hash(0, bytes, offset, size))

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

  /** A scan has found these keys, and no other. */
  def learn(prefix: Array[Byte], keys: Array[Array[Byte]]): Unit = if (keys.length <= MostKeys) {
    makeRoom()
    if (!memory.isFull) add(KeyList.of(prefix, keys), round - 1)
  }

  /** The walk has come to a key. */
  def passed(key: Array[Byte]): Unit = unlist(key, 0, length.of(key, 0, key.length))

  private def makeRoom(): Unit = while (memory.isFull && !known.isEmpty) forget(known.eldest())

  private def add(list: Array[Byte], changedIn: Int): Unit = {
    memory.take(bytesOf(list))
    known.add(list, changedIn)
  }

  /** A key has come that was not there. */
  def added(key: Array[Byte], offset: Int, size: Int): Unit = {
    val prefix = length.of(key, offset, size)
    val at = known.find(key, offset, prefix)
    if (at < 0) addedToUnlisted(key, offset, size, prefix)
    else {
      val list = known.list(at)
      val place = KeyList.find(list, key, offset, size)
      known.changed(at, round)
      if (place >= 0 || KeyList.count(list) == MostKeys) forget(at)
      else replace(at, KeyList.added(list, -1 - place, key, offset, size))
    }
  }

  private def addedToUnlisted(key: Array[Byte], offset: Int, size: Int, prefix: Int): Unit = {
    val isFirst = scanned && isAbsent(key, offset, prefix)
    if (isFirst) makeRoom()
    if (isFirst && !memory.isFull) add(KeyList.of(key, offset, size, prefix), round)
    else {
      unlist(key, offset, prefix)
      changed(key, offset, prefix)
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
      if (place < 0) forget(at)
      else {
        replace(at, KeyList.removed(list, place))
        // A prefix that `unlisted` takes for one with keys keeps its list, which says that it has none.
        if (KeyList.isEmpty(known.list(at)) && isAbsent(key, offset, prefix)) forget(at)
      }
    }
  }

  private def replace(at: Int, by: Array[Byte]): Unit = {
    memory.take(bytesOf(by) - bytesOf(known.list(at)))
    known.replace(at, by)
  }

  private def forget(at: Int): Unit = {
    val list = known.list(at)
    val size = KeyList.prefixSize(list)
    if (known.changedIn(at) == round) changed(list, KeyList.PrefixAt, size)
    if (!KeyList.isEmpty(list)) unlist(list, KeyList.PrefixAt, size)
    memory.give(bytesOf(list))
    known.remove(at)
  }

  /** Keys have gone, and no new one has come. */
  def someRemoved(): Unit = {
    while (!known.isEmpty) forget(known.eldest())
    anyPending = true
  }

  /** There is no key. */
  def none(): Unit = {
    forgetAll()
    unlisted.none()
  }

  /** Keys have come and gone without a word. */
  def again(): Unit = {
    forgetAll()
    unlisted.again()
  }

  private def forgetAll(): Unit = {
    anyPending = true
    pending.clear()
    known = new PrefixTable
    memory.give(memory.used)
  }

  override def close(): Unit = {
    forgetAll()
    unlisted.close()
  }
}

private[rocksdb] object PrefixKeys {

  private val NoKeys = Array.empty[Array[Byte]]

  /** A longer list would be copied too often. */
  val MostKeys = 64

  /** With more of them all changes are applied before the next scan. */
  val MostPending = 20000

  /** The list, and its share of the table. */
  private def bytesOf(list: Array[Byte]): Long = 40L + list.length
}
