package io.snapline.state.timeindex

import java.nio.ByteBuffer
import java.util.Arrays

/** Sorts keys by their bytes (unsigned). Keys lie anywhere in memory, so comparing them costs more than all else: some
  * bytes of each are sorted as numbers, and keys that have these in common by their next ones.
  */
object KeySort {

  /** The keys in ascending order, each once. The array is used up. */
  def distinct(keys: Array[Array[Byte]]): Array[Array[Byte]] = {
    sort(keys, 0, keys.length)
    var kept = 0
    var i = 0
    while (i < keys.length) {
      if (kept == 0 || !Arrays.equals(keys(kept - 1), keys(i))) {
        keys(kept) = keys(i)
        kept += 1
      }
      i += 1
    }
    if (kept == keys.length) keys else Arrays.copyOf(keys, kept)
  }

  private def sort(keys: Array[Array[Byte]], from: Int, until: Int): Unit = {
    val count = until - from
    if (count <= Few) byComparing(keys, from, until)
    else {
      val common = commonPrefix(keys, from, until)
      // A key that ends within the bytes that are compared may sort before one that goes on with zeros.
      var shortest = Int.MaxValue
      val indexBits = 32 - Integer.numberOfLeadingZeros(count - 1)
      val numbers = new Array[Long](count)
      var i = 0
      while (i < count) {
        val key = keys(from + i)
        shortest = math.min(shortest, key.length)
        numbers(i) = (bytesAt(key, common, key.length) >>> indexBits << indexBits | i) ^ Long.MinValue
        i += 1
      }
      Arrays.sort(numbers)
      place(keys, from, numbers, indexBits)
      i = 0
      while (i < count) {
        val same = numbers(i) >>> indexBits
        var end = i + 1
        while (end < count && numbers(end) >>> indexBits == same) end += 1
        if (end - i > 1) {
          // Where nothing was told apart, the common prefix does not grow either.
          if (end - i < count && shortest >= common + 8) sort(keys, from + i, from + end)
          else byComparing(keys, from + i, from + end)
        }
        i = end
      }
    }
  }

  private def place(keys: Array[Array[Byte]], from: Int, numbers: Array[Long], indexBits: Int): Unit = {
    val before = Arrays.copyOfRange(keys, from, from + numbers.length)
    val mask = (1L << indexBits) - 1
    var i = 0
    while (i < numbers.length) {
      keys(from + i) = before((numbers(i) & mask).toInt)
      i += 1
    }
  }

  private def byComparing(keys: Array[Array[Byte]], from: Int, until: Int): Unit =
    Arrays.sort(keys, from, until, (a: Array[Byte], b: Array[Byte]) => Arrays.compareUnsigned(a, b))

  private def commonPrefix(keys: Array[Array[Byte]], from: Int, until: Int): Int = {
    val first = keys(from)
    var common = first.length
    var i = from + 1
    while (i < until && common > 0) {
      val at = Arrays.mismatch(first, 0, common, keys(i), 0, math.min(common, keys(i).length))
      if (at >= 0) common = at
      i += 1
    }
    common
  }

  /** Eight bytes of a key as a number, the first one highest; zeros where it ends before.
    *
    * @param end
    *   where the key ends in `bytes`
    */
  private[state] def bytesAt(bytes: Array[Byte], at: Int, end: Int): Long =
    if (at + 8 <= end) ByteBuffer.wrap(bytes).getLong(at)
    else {
      var number = 0L
      var i = at
      while (i < at + 8) {
        number = number << 8 | (if (i < end) bytes(i) & 0xffL else 0L)
        i += 1
      }
      number
    }

  /** So few are sorted by comparing them. */
  private val Few = 24
}
