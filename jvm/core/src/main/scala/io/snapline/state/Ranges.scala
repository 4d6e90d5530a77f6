package io.snapline.state

/** Arithmetic on byte-string ranges, unsigned order. */
object Ranges {

  /** The first key after all keys with this prefix; null if there is none. */
  def afterPrefix(prefix: Array[Byte]): Array[Byte] = {
    var last = prefix.length - 1
    while (last >= 0 && prefix(last) == -1) last -= 1
    if (last < 0) null
    else {
      val after = java.util.Arrays.copyOf(prefix, last + 1)
      after(last) = (after(last) + 1).toByte
      after
    }
  }

  def within(bytes: Array[Byte], offset: Int, length: Int, from: Array[Byte], until: Array[Byte]): Boolean =
    java.util.Arrays.compareUnsigned(bytes, offset, offset + length, from, 0, from.length) >= 0 &&
      java.util.Arrays.compareUnsigned(bytes, offset, offset + length, until, 0, until.length) < 0
}
