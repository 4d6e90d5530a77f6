package io.snapline.state

/** One named state of one partition: a sorted map of byte strings.
  *
  * Keys and values are slices of the caller's arrays, copied before a call returns. Arrays that come back are the
  * caller's. A family is used by one thread at a time.
  */
trait ColumnFamily {
  def descriptor: FamilyDescriptor

  /** How many keys the family holds now, exact. */
  def keyCount: Long

  /** The value, or null. */
  def get(key: Array[Byte], offset: Int, length: Int): Array[Byte]

  final def get(key: Array[Byte]): Array[Byte] = get(key, 0, key.length)

  /** The values of many keys, null where a key is absent, in the order of the keys. */
  def multiGet(keys: Array[Array[Byte]]): Array[Array[Byte]]

  def contains(key: Array[Byte], offset: Int, length: Int): Boolean

  final def contains(key: Array[Byte]): Boolean = contains(key, 0, key.length)

  def put(
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit

  final def put(key: Array[Byte], value: Array[Byte]): Unit = put(key, 0, key.length, value, 0, value.length)

  /** Appends the bytes to the value; a missing value counts as empty. */
  def merge(
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit

  final def merge(key: Array[Byte], value: Array[Byte]): Unit = merge(key, 0, key.length, value, 0, value.length)

  /** Whether the key was there. */
  def delete(key: Array[Byte], offset: Int, length: Int): Boolean

  final def delete(key: Array[Byte]): Boolean = delete(key, 0, key.length)

  /** Deletes every key in [from, until), unsigned byte order. */
  def deleteRange(from: Array[Byte], until: Array[Byte]): Unit

  /** Rows whose key begins with the prefix, as of now: later changes do not show. */
  def prefixScan(prefix: Array[Byte]): RowCursor

  /** Rows in [from, until); null for an open end. As of now. */
  def rangeScan(from: Array[Byte], until: Array[Byte]): RowCursor

  /** All rows, as of now. */
  final def iterate(): RowCursor = rangeScan(null, null)
}
