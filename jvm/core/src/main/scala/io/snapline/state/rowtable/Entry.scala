package io.snapline.state.rowtable

import io.snapline.error.CheckpointDamaged

/** Operations of a changelog entry (docs/FORMAT.md section 3). */
object Op {
  val Void = 0
  val Put = 1
  val Delete = 2
  val Merge = 3
  val DeleteRange = 4

  /** Never in a changelog: marks, in pages of rows read from below, a key known to be absent. */
  val Absent = 7
}

/** A movable view of one entry in a page. Not thread-safe; each walker has its own. */
final class Entry {
  var op: Int = 0
  var family: Int = 0
  var keyOffset: Int = 0
  var keyLength: Int = 0
  var valueOffset: Int = 0
  var valueLength: Int = 0

  /** Offset of the entry after this one. */
  def end: Int = valueOffset + valueLength

  /** Reads the entry at `offset` of bytes this process wrote. */
  def read(bytes: Array[Byte], offset: Int): Unit = {
    var at = offset
    // Tags, key lengths and most value lengths take one byte: the loops seldom turn.
    var b = bytes(at)
    var tag = b & 0x7f
    var shift = 7
    at += 1
    while (b < 0) { b = bytes(at); tag |= (b & 0x7f) << shift; shift += 7; at += 1 }
    b = bytes(at)
    keyLength = b & 0x7f
    shift = 7
    at += 1
    while (b < 0) { b = bytes(at); keyLength |= (b & 0x7f) << shift; shift += 7; at += 1 }
    b = bytes(at)
    valueLength = b & 0x7f
    shift = 7
    at += 1
    while (b < 0) { b = bytes(at); valueLength |= (b & 0x7f) << shift; shift += 7; at += 1 }
    op = tag & 7
    family = tag >>> 3
    keyOffset = at
    valueOffset = at + keyLength
  }

  /** Reads the entry at `offset` of bytes from storage: nothing is believed. */
  def readChecked(bytes: Array[Byte], offset: Int, limit: Int): Unit = {
    var at = offset
    var field = 0
    while (field < 3) {
      var value = 0L
      var shift = 0
      var more = true
      while (more) {
        if (at >= limit || shift > 28) Entry.damaged(offset)
        val b = bytes(at)
        value |= (b & 0x7fL) << shift
        shift += 7
        at += 1
        more = b < 0
      }
      if (field == 0) {
        if (value > 0x7ffffL) Entry.damaged(offset)
        op = (value & 7).toInt
        family = (value >>> 3).toInt
        if (op > Op.DeleteRange) Entry.damaged(offset)
      } else if (field == 1) {
        if (value > limit) Entry.damaged(offset)
        keyLength = value.toInt
      } else {
        if (value > limit) Entry.damaged(offset)
        valueLength = value.toInt
      }
      field += 1
    }
    keyOffset = at
    valueOffset = at + keyLength
    if (keyLength > limit - at || valueLength > limit - at - keyLength) Entry.damaged(offset)
  }
}

object Entry {

  /** Bytes of tag, lengths, key and value. */
  def size(family: Int, keyLength: Int, valueLength: Int): Int =
    varintSize(family << 3) + varintSize(keyLength) + varintSize(valueLength) + keyLength + valueLength

  /** Writes an entry; returns the offset after it. */
  def write(
      target: Array[Byte],
      offset: Int,
      op: Int,
      family: Int,
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Int = {
    var at = writeVarint(target, offset, family << 3 | op)
    at = writeVarint(target, at, keyLength)
    at = writeVarint(target, at, valueLength)
    System.arraycopy(key, keyOffset, target, at, keyLength)
    at += keyLength
    if (valueLength > 0) System.arraycopy(value, valueOffset, target, at, valueLength)
    at + valueLength
  }

  /** Turns the entry at `offset` into one that readers skip. The operation sits in the low bits of the first byte. */
  def makeVoid(bytes: Array[Byte], offset: Int): Unit = bytes(offset) = (bytes(offset) & ~7).toByte

  def writeVarint(target: Array[Byte], offset: Int, value: Int): Int = {
    var at = offset
    var rest = value
    while ((rest & ~0x7f) != 0) {
      target(at) = ((rest & 0x7f) | 0x80).toByte
      rest >>>= 7
      at += 1
    }
    target(at) = rest.toByte
    at + 1
  }

  def varintSize(value: Int): Int = {
    var size = 1
    var rest = value >>> 7
    while (rest != 0) { size += 1; rest >>>= 7 }
    size
  }

  private def damaged(offset: Int): Nothing =
    throw new CheckpointDamaged(
      s"A changelog block holds an entry at byte $offset that cannot be one.",
      "run `snapline checkpoints verify` on the checkpoint to see which versions load."
    )
}
