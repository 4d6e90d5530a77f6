package io.snapline.state.rocksdb

import java.util.Arrays

/** All keys with one prefix, in one array that is never changed: the prefix, then the rest of each key, in ascending
  * order. Each has its length before it.
  *
  * A place is where the rest of a key begins with its length.
  */
private[rocksdb] object KeyList {
  private val LengthBytes = 4

  def of(prefix: Array[Byte], keys: Array[Array[Byte]]): Array[Byte] = {
    var size = LengthBytes + prefix.length
    keys.foreach(key => size += LengthBytes + key.length - prefix.length)
    val list = new Array[Byte](size)
    var at = write(list, 0, prefix, 0, prefix.length)
    keys.foreach(key => at = write(list, at, key, prefix.length, key.length - prefix.length))
    list
  }

  /** The list of a prefix that has one key. */
  def of(key: Array[Byte], offset: Int, size: Int, prefix: Int): Array[Byte] = {
    val list = new Array[Byte](LengthBytes + prefix + LengthBytes + size - prefix)
    val rest = write(list, 0, key, offset, prefix)
    write(list, rest, key, offset + prefix, size - prefix): Unit
    list
  }

  def isEmpty(list: Array[Byte]): Boolean = list.length == PrefixAt + prefixSize(list)

  def prefixSize(list: Array[Byte]): Int = length(list, 0)

  /** Where the prefix begins. */
  val PrefixAt: Int = LengthBytes

  def hasPrefix(list: Array[Byte], bytes: Array[Byte], offset: Int, size: Int): Boolean =
    prefixSize(list) == size && Arrays.equals(list, PrefixAt, PrefixAt + size, bytes, offset, offset + size)

  def keys(list: Array[Byte]): Array[Array[Byte]] = {
    val found = new Array[Array[Byte]](count(list))
    val prefix = prefixSize(list)
    var at = PrefixAt + prefix
    var i = 0
    while (i < found.length) {
      val rest = length(list, at)
      val key = Arrays.copyOfRange(list, PrefixAt, PrefixAt + prefix + rest)
      System.arraycopy(list, at + LengthBytes, key, prefix, rest)
      found(i) = key
      at += LengthBytes + rest
      i += 1
    }
    found
  }

  def count(list: Array[Byte]): Int = {
    var at = PrefixAt + prefixSize(list)
    var found = 0
    while (at < list.length) {
      at += LengthBytes + length(list, at)
      found += 1
    }
    found
  }

  /** The place of a key with this prefix; if it is not there, -1 less the place where it belongs. */
  def find(list: Array[Byte], key: Array[Byte], offset: Int, size: Int): Int = {
    val rest = offset + prefixSize(list)
    var at = PrefixAt + prefixSize(list)
    var order = -1
    while (order < 0 && at < list.length) {
      val end = at + LengthBytes + length(list, at)
      order = Arrays.compareUnsigned(list, at + LengthBytes, end, key, rest, offset + size)
      if (order < 0) at = end
    }
    if (order == 0) at else -1 - at
  }

  /** With a key at its place. */
  def added(list: Array[Byte], place: Int, key: Array[Byte], offset: Int, size: Int): Array[Byte] = {
    val rest = size - prefixSize(list)
    val more = new Array[Byte](list.length + LengthBytes + rest)
    System.arraycopy(list, 0, more, 0, place)
    val end = write(more, place, key, offset + prefixSize(list), rest)
    System.arraycopy(list, place, more, end, list.length - place)
    more
  }

  /** Without the key at this place. */
  def removed(list: Array[Byte], place: Int): Array[Byte] = {
    val end = place + LengthBytes + length(list, place)
    val fewer = Arrays.copyOf(list, list.length - (end - place))
    System.arraycopy(list, end, fewer, place, list.length - end)
    fewer
  }

  private def write(list: Array[Byte], at: Int, bytes: Array[Byte], offset: Int, size: Int): Int = {
    list(at) = size.toByte
    list(at + 1) = (size >>> 8).toByte
    list(at + 2) = (size >>> 16).toByte
    list(at + 3) = (size >>> 24).toByte
    System.arraycopy(bytes, offset, list, at + LengthBytes, size)
    at + LengthBytes + size
  }

  private def length(list: Array[Byte], at: Int): Int =
    list(at) & 0xff | (list(at + 1) & 0xff) << 8 | (list(at + 2) & 0xff) << 16 | list(at + 3) << 24
}
