package io.snapline.spark.operator.state

import java.util.Arrays

/** What a chunk begins, in the order of its rows: keys, or (key, entry) pairs. Knows the row each was first seen in, so
  * that a chunk can be cut where state no longer fits.
  */
final class NewKeys {
  private var begins = new Array[Int](64)

  /** The number of the first of this chunk, and that after the last. */
  var first = 0
  var until = 0

  /** The next one, and the row it begins with. */
  def add(row: Int): Unit = {
    val at = until - first
    if (at == begins.length) begins = Arrays.copyOf(begins, at * 2)
    begins(at) = row
    until += 1
  }

  def rowOf(number: Int): Int = begins(number - first)

  /** Leaves out what begins with that row or later. */
  def cut(row: Int): Unit = while (until > first && rowOf(until - 1) >= row) until -= 1

  /** The chunk is made. */
  def pass(): Unit = first = until

  def clear(): Unit = {
    if (begins.length > NewKeys.Kept) begins = new Array[Int](64)
    first = 0
    until = 0
  }
}

private object NewKeys {
  private val Kept = 1 << 16
}
