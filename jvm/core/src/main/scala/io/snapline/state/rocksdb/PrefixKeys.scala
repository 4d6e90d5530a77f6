package io.snapline.state.rocksdb

import java.util.{Arrays, HashSet, LinkedHashMap}

import io.snapline.state.PrefixLength
import io.snapline.state.rowtable.RowIndex
import io.snapline.state.timeindex.IndexMemory

/** All keys of each prefix that was scanned lately, so that the next scan of it needs no iterator of RocksDB. Such an
  * iterator costs as much as twenty rows, and the changes above RocksDB have to be applied first.
  *
  * Must be told of each key that comes or goes. Bounded by its memory: the prefix used longest ago goes first. Belongs
  * to the thread that holds the backend.
  */
private[rocksdb] final class PrefixKeys(length: PrefixLength, memory: IndexMemory) extends AutoCloseable {
  import PrefixKeys._

  /** In the order of use. The arrays are never changed: a scan that is under way has its own. */
  private val known = new LinkedHashMap[Prefix, Array[Array[Byte]]](16, 0.75f, true)
  private val probe = new Prefix
  private var own = 0L

  /** Prefixes of changes that RocksDB may not have yet, of those that are not known. */
  private val pending = new HashSet[Prefix]
  private var anyPending = true

  /** The keys with this prefix, in ascending order; null if they are not known. */
  def find(prefix: Array[Byte]): Array[Array[Byte]] = known.get(probe.at(prefix, 0, prefix.length))

  /** Whether a key is not there, for sure. */
  def lack(key: Array[Byte], offset: Int, size: Int): Boolean = !known.isEmpty && {
    val keys = known.get(probe.at(key, offset, length.of(key, offset, size)))
    keys != null && Arrays.binarySearch(keys, Arrays.copyOfRange(key, offset, offset + size), Order) < 0
  }

  /** Whether RocksDB has all changes of the keys with this prefix. */
  def isApplied(prefix: Array[Byte]): Boolean = !anyPending && !pending.contains(probe.at(prefix, 0, prefix.length))

  /** RocksDB has all changes so far. */
  def applied(): Unit = {
    pending.clear()
    anyPending = false
  }

  private def changed(of: Prefix, key: Array[Byte], offset: Int): Unit =
    if (pending.size == MostPending) anyPending = true
    else if (!pending.contains(of)) {
      pending.add(new Prefix().at(Arrays.copyOfRange(key, offset, offset + of.size), 0, of.size)): Unit
    }

  def learn(prefix: Array[Byte], keys: Array[Array[Byte]]): Unit = if (keys.length <= MostKeys) {
    while (memory.isFull && !known.isEmpty) {
      val eldest = known.entrySet.iterator.next()
      account(-bytesOf(eldest.getKey, eldest.getValue))
      known.remove(eldest.getKey): Unit
      anyPending = true
    }
    if (!memory.isFull) {
      val of = new Prefix().at(prefix, 0, prefix.length)
      account(bytesOf(of, keys))
      known.put(of, keys): Unit
    }
  }

  /** A key has come that was not there. */
  def added(key: Array[Byte], offset: Int, size: Int): Unit = {
    val of = probe.at(key, offset, length.of(key, offset, size))
    val keys = known.get(of)
    if (keys == null) changed(of, key, offset)
    else {
      val added = Arrays.copyOfRange(key, offset, offset + size)
      val at = -1 - Arrays.binarySearch(keys, added, Order)
      if (at < 0 || keys.length == MostKeys) forget(of, keys)
      else {
        val more = new Array[Array[Byte]](keys.length + 1)
        System.arraycopy(keys, 0, more, 0, at)
        more(at) = added
        System.arraycopy(keys, at, more, at + 1, keys.length - at)
        replace(of, keys, more)
      }
    }
  }

  /** The value of a key that was there is another. */
  def updated(key: Array[Byte], offset: Int, size: Int): Unit = {
    val of = probe.at(key, offset, length.of(key, offset, size))
    if (!known.containsKey(of)) changed(of, key, offset)
  }

  /** A key has gone that was there. */
  def removed(key: Array[Byte], offset: Int, size: Int): Unit = {
    val of = probe.at(key, offset, length.of(key, offset, size))
    val keys = known.get(of)
    if (keys == null) changed(of, key, offset)
    else {
      val at = Arrays.binarySearch(keys, Arrays.copyOfRange(key, offset, offset + size), Order)
      if (at < 0) forget(of, keys)
      else {
        val fewer = new Array[Array[Byte]](keys.length - 1)
        System.arraycopy(keys, 0, fewer, 0, at)
        System.arraycopy(keys, at + 1, fewer, at, fewer.length - at)
        replace(of, keys, fewer)
      }
    }
  }

  private def replace(of: Prefix, keys: Array[Array[Byte]], by: Array[Array[Byte]]): Unit = {
    account(bytesOf(of, by) - bytesOf(of, keys))
    known.replace(of, by): Unit
  }

  private def forget(of: Prefix, keys: Array[Array[Byte]]): Unit = {
    anyPending = true
    account(-bytesOf(of, keys))
    known.remove(of): Unit
  }

  /** Nothing is known any more. */
  override def close(): Unit = {
    anyPending = true
    pending.clear()
    known.clear()
    account(-own)
  }

  private def account(bytes: Long): Unit = {
    own += bytes
    memory.take(bytes)
  }
}

private[rocksdb] object PrefixKeys {

  /** A longer list would be copied too often. */
  val MostKeys = 64

  /** With more of them all changes are applied before the next scan. */
  val MostPending = 20000

  /** For all stores of an executor: a quarter of a million prefixes. */
  val memory: IndexMemory = IndexMemory.usual

  private val Order: java.util.Comparator[Array[Byte]] = (a, b) => Arrays.compareUnsigned(a, b)

  private def bytesOf(prefix: Prefix, keys: Array[Array[Byte]]): Long = {
    var sum = 120L + prefix.size
    keys.foreach(key => sum += 24 + key.length)
    sum
  }

  /** A slice of bytes as a map's key. The map's own are whole arrays; the one to look with moves. */
  private final class Prefix {
    private var bytes: Array[Byte] = _
    private var offset = 0
    private var hash = 0
    var size = 0

    def at(bytes: Array[Byte], offset: Int, size: Int): Prefix = {
      this.bytes = bytes
      this.offset = offset
      this.size = size
      // A map takes the low bits.
      val mixed = RowIndex.hash(0, bytes, offset, size) * 0x9e3779b9
      hash = mixed ^ (mixed >>> 16)
      this
    }

    override def hashCode: Int = hash

    override def equals(other: Any): Boolean = other match {
      case that: Prefix => Arrays.equals(bytes, offset, offset + size, that.bytes, that.offset, that.offset + that.size)
      case _ => false
    }
  }
}
