package io.snapline.state.heap

/** The rows of one family by key, in no order. Rows that come out are the map's own: to be read, and not after the next
  * change.
  *
  * One thread.
  */
private[heap] abstract class StateMap {

  /** The row that the last `put` or `append` left, and the one it found: the same if that was changed in place, null if
    * the key is new.
    */
  final var row: Array[Byte] = _
  final var before: Array[Byte] = _

  def size: Int

  /** Bytes of keys and values. */
  def dataBytes: Long

  /** Memory of all that is no row. */
  def tableBytes: Long

  /** The row, or null. */
  def get(key: Array[Byte], offset: Int, length: Int): Array[Byte]

  /** @param inPlace
    *   false: rows that are in the map are not changed, another takes their place
    */
  def put(
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int,
      inPlace: Boolean
  ): Unit

  /** Puts the bytes behind the value that is there, if any. */
  def append(
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int,
      inPlace: Boolean
  ): Unit

  /** The row that is gone, or null. */
  def remove(key: Array[Byte], offset: Int, length: Int): Array[Byte]

  def foreach(each: Array[Byte] => Unit): Unit

  /** The map is not used any more; snapshots of it may be. */
  def close(): Unit
}
