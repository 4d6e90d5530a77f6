package io.snapline.state.rocksdb

import java.util.{Arrays, LinkedHashMap}

import io.snapline.state.PrefixLength
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

  /** The keys with this prefix, in ascending order; null if they are not known. */
  def find(prefix: Array[Byte]): Array[Array[Byte]] = known.get(probe.at(prefix, 0, prefix.length))

  def learn(prefix: Array[Byte], keys: Array[Array[Byte]]): Unit = if (keys.length <= MostKeys) {
    while (memory.isFull && !known.isEmpty) {
      val eldest = known.entrySet.iterator.next()
      account(-bytesOf(eldest.getKey, eldest.getValue))
      known.remove(eldest.getKey): Unit
    }
    if (!memory.isFull) {
      val of = new Prefix().at(prefix, 0, prefix.length)
      account(bytesOf(of, keys))
      known.put(of, keys): Unit
    }
  }

  /** A key has come that was not there. */
  def added(key: Array[Byte], offset: Int, size: Int): Unit = if (!known.isEmpty) {
    val of = probe.at(key, offset, length.of(key, offset, size))
    val keys = known.get(of)
    if (keys != null) {
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

  /** A key has gone that was there. */
  def removed(key: Array[Byte], offset: Int, size: Int): Unit = if (!known.isEmpty) {
    val of = probe.at(key, offset, length.of(key, offset, size))
    val keys = known.get(of)
    if (keys != null) {
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
    account(-bytesOf(of, keys))
    known.remove(of): Unit
  }

  /** Nothing is known any more. */
  override def close(): Unit = {
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

  /** For all stores of an executor: a quarter of a million prefixes. */
  val memory: IndexMemory = new IndexMemory(64L << 20)

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
      hash = io.snapline.state.rowtable.RowIndex.hash(0, bytes, offset, size)
      this
    }

    override def hashCode: Int = hash

    override def equals(other: Any): Boolean = other match {
      case that: Prefix => Arrays.equals(bytes, offset, offset + size, that.bytes, that.offset, that.offset + that.size)
      case _ => false
    }
  }
}
