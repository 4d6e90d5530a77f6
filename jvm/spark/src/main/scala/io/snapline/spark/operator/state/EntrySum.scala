package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}

/** A checksum of a set of entries, kept up to date entry by entry: it does not depend on their order. */
final case class EntrySum(entries: Long, hash: Long) {
  def add(key: UnsafeRow, value: UnsafeRow): EntrySum = EntrySum(entries + 1, hash + EntrySum.of(key, value))
  def remove(key: UnsafeRow, value: UnsafeRow): EntrySum = EntrySum(entries - 1, hash - EntrySum.of(key, value))
}

object EntrySum {
  val Empty: EntrySum = EntrySum(0, 0)

  /** The hash of the key is the seed of the value's: values that changed places make a difference. */
  private def of(key: UnsafeRow, value: UnsafeRow): Long = hash(value, hash(key, 42L))

  private def hash(row: UnsafeRow, seed: Long): Long =
    XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, seed)
}
