package io.snapline.state.rocksdb

import java.io.File

import org.rocksdb.ColumnFamilyHandle

import io.snapline.state._
import io.snapline.state.rowtable._
import io.snapline.state.timeindex.IndexMemory

/** One column family: looks into the row table first, then into RocksDB; changes go to the table only.
  *
  * @param restored
  *   whether RocksDB may hold rows of it from the beginning
  */
private[rocksdb] final class RocksDbFamily(
    backend: RocksDbBackend,
    override val descriptor: FamilyDescriptor,
    restored: Boolean,
    keysMemory: IndexMemory,
    prefixesMemory: IndexMemory
) extends ColumnFamily {
  private val id = descriptor.id
  private val table = backend.table
  @volatile private var handle: ColumnFamilyHandle = _

  /** Whether RocksDB may hold rows of it; while not, it is not scanned. */
  @volatile private[rocksdb] var nativeHas = restored

  private val below = new KeysBelow(backend, this, restored, keysMemory)

  /** Whether the table has each row that there is: a key that it does not find is not looked for below. */
  private[rocksdb] def isAllAbove: Boolean = below.isNone

  /** Whether a key was deleted that left no mark, and RocksDB may not know it yet. */
  private var unmarked = false

  private[rocksdb] def leavesNoMark(): Boolean = {
    unmarked ||= isAllAbove
    isAllAbove
  }

  private[rocksdb] def lostAbove(hash: Int): Unit = {
    if (isAllAbove && unmarked) backend.drain()
    below.lost(hash)
  }

  private[rocksdb] def batchBegins(): Unit = {
    below.step()
    if (prefixes != null) prefixes.step()
  }

  private[rocksdb] val lowest = new LowestKey

  /** Maintained by put and delete, set by a restore. */
  private var keys = 0L

  override def keyCount: Long = keys

  private var putsSeen = 0L

  override def putCount: Long = putsSeen

  /** Rows came from a snapshot or a changelog. */
  private[rocksdb] def restored(): Unit = {
    putsSeen += 1
    lowest.forget()
    below.again()
    if (prefixes != null) prefixes.keys.again()
  }

  /** Null: nobody told how long a prefix is. */
  private var prefixes: PrefixScans = _

  override def hasPrefixes(length: PrefixLength): Unit =
    if (prefixes == null && !descriptor.multi) {
      prefixes = new PrefixScans(backend, this, length, keysMemory, prefixesMemory)
    }

  override def indexBytes: Long = super.indexBytes + (if (prefixes == null) 0 else prefixes.keys.bytes) + below.bytes

  /** The family is no longer used. */
  private[rocksdb] def end(): Unit = {
    dropTimeIndex()
    if (prefixes != null) prefixes.close()
    below.close()
  }

  override protected def newIndexFile(): File = backend.newIndexFile()

  private[rocksdb] def keyCount_=(count: Long): Unit = keys = count

  private[rocksdb] def native: ColumnFamilyHandle = {
    if (handle == null) handle = backend.open.family(descriptor.name)
    handle
  }

  override def get(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    backend.gets += 1
    val hash = RowIndex.hash(id, key, offset, length)
    val slot = table.find(hash, id, key, offset, length)
    if (slot < 0) readBelow(hash, key, offset, length)
    else {
      backend.hits += 1
      table.entry.op match {
        case Op.Put => table.copyValue()
        case Op.Merge => readMerged(key, offset, length)
        case _ => null
      }
    }
  }

  /** The value of a key that is not in the table. Where RocksDB is read, its answer is remembered. */
  private def readBelow(hash: Int, key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    backend.checkSound()
    if (!mayBeBelow(hash, key, offset, length)) {
      backend.hits += 1
      null
    } else {
      val value = backend.open.get(native, key, offset, length)
      if (value == null) below.missed()
      table.remember(hash, id, key, offset, length, value)
      value
    }
  }

  /** The pieces of a merged value are put together by RocksDB. */
  private def readMerged(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    backend.drain()
    backend.open.get(native, key, offset, length)
  }

  override def multiGet(keys: Array[Array[Byte]]): Array[Array[Byte]] = {
    val values = new Array[Array[Byte]](keys.length)
    val missing = new java.util.ArrayList[Array[Byte]]
    var places = new Array[Int](16)
    val hashes = new Array[Int](RowIndex.Together)
    var i = 0
    while (i < keys.length) {
      val key = keys(i)
      val among = i % hashes.length
      if (among == 0) table.touch(id, keys, i, hashes)
      val slot = table.find(hashes(among), id, key, 0, key.length)
      backend.gets += 1
      if (slot >= 0) {
        backend.hits += 1
        values(i) = table.entry.op match {
          case Op.Put => table.copyValue()
          case Op.Merge => readMerged(key, 0, key.length)
          case _ => null
        }
      } else if (!mayBeBelow(hashes(among), key, 0, key.length)) backend.hits += 1
      else {
        if (missing.size == places.length) places = java.util.Arrays.copyOf(places, places.length * 2)
        places(missing.size) = i
        missing.add(key)
      }
      i += 1
    }
    if (!missing.isEmpty) readAllBelow(missing, places, values)
    values
  }

  override def expect(keys: => Array[Array[Byte]]): Unit = {
    val expected = keys
    val hashes = new Array[Int](RowIndex.Together)
    var i = 0
    while (i < expected.length) {
      table.touch(id, expected, i, hashes)
      i += hashes.length
    }
  }

  private def readAllBelow(
      missing: java.util.List[Array[Byte]],
      places: Array[Int],
      values: Array[Array[Byte]]
  ): Unit = {
    backend.checkSound()
    val found = backend.open.multiGet(native, missing)
    var j = 0
    while (j < missing.size) {
      val key = missing.get(j)
      val value = found.get(j)
      values(places(j)) = value
      if (value == null) below.missed()
      val hash = RowIndex.hash(id, key, 0, key.length)
      // A key asked for twice is remembered once.
      if (table.find(hash, id, key, 0, key.length) < 0) table.remember(hash, id, key, 0, key.length, value)
      j += 1
    }
  }

  override def contains(key: Array[Byte], offset: Int, length: Int): Boolean = {
    val hash = RowIndex.hash(id, key, offset, length)
    val slot = table.find(hash, id, key, offset, length)
    if (slot >= 0) present(slot)
    else
      mayBeBelow(hash, key, offset, length) && {
        val exists = looksBelow(key, offset, length)
        // Who finds a key absent often puts it next, and the put need not look again.
        if (!exists) table.remember(hash, id, key, offset, length, null)
        exists
      }
  }

  private def present(slot: Int): Boolean =
    slot >= 0 && (table.entry.op == Op.Put || table.entry.op == Op.Merge)

  /** A key that is not in the table. */
  private def mayBeBelow(hash: Int, key: Array[Byte], offset: Int, length: Int): Boolean =
    below.mayHave(hash) && (prefixes == null || !prefixes.keys.lack(key, offset, length))

  private def existsBelow(hash: Int, key: Array[Byte], offset: Int, length: Int): Boolean =
    mayBeBelow(hash, key, offset, length) && looksBelow(key, offset, length)

  private def looksBelow(key: Array[Byte], offset: Int, length: Int): Boolean = {
    backend.checkSound()
    val exists = backend.open.contains(native, key, offset, length)
    if (!exists) below.missed()
    exists
  }

  override def put(key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit =
    change(Op.Put, key, ko, kl, value, vo, vl)

  override def merge(key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit =
    change(Op.Merge, key, ko, kl, value, vo, vl)

  private def change(op: Int, key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit = {
    backend.puts += 1
    putsSeen += 1
    lowest.put(key, ko, kl)
    val hash = RowIndex.hash(id, key, ko, kl)
    val slot = table.find(hash, id, key, ko, kl)
    val was = if (slot >= 0) present(slot) else existsBelow(hash, key, ko, kl)
    // Nothing to append to, and no older piece that may still be on its way: the piece is the value.
    val first = op == Op.Merge && !was
    table.log(slot, hash, if (first) Op.Put else op, id, key, ko, kl, value, vo, vl, first)
    if (!was) keyCount += 1
    if (prefixes != null) { if (was) prefixes.keys.updated(key, ko, kl) else prefixes.keys.added(key, ko, kl) }
  }

  override def delete(key: Array[Byte], offset: Int, length: Int): Boolean = {
    backend.puts += 1
    val hash = RowIndex.hash(id, key, offset, length)
    val slot = table.find(hash, id, key, offset, length)
    val was = if (slot >= 0) present(slot) else existsBelow(hash, key, offset, length)
    if (was) {
      table.log(slot, hash, Op.Delete, id, key, offset, length, null, 0, 0)
      keyCount -= 1
      if (prefixes != null) prefixes.keys.removed(key, offset, length)
    } else table.logNothingDeleted(id, key, offset, length)
    was
  }

  override def deleteRange(from: Array[Byte], until: Array[Byte]): Unit = {
    val cursor = backend.scan(this, from, until)
    var gone = 0L
    try while (cursor.next()) gone += 1
    finally cursor.close()
    if (gone > 0) {
      if (prefixes != null) prefixes.keys.someRemoved()
      backend.puts += 1
      table.logRange(id, from, until)
      backend.drain()
      table.forget(id, Ranges.within(_, _, _, from, until))
      keyCount -= gone
    }
  }

  override def prefixScan(prefix: Array[Byte]): RowCursor =
    if (prefixes == null) backend.scan(this, prefix, Ranges.afterPrefix(prefix)) else prefixes.scan(prefix)

  override def rangeScan(from: Array[Byte], until: Array[Byte]): RowCursor = backend.scan(this, from, until)
}
