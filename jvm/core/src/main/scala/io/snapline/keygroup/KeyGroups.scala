package io.snapline.keygroup

/** How keys fall into key groups, the units that move when a query is rescaled.
  *
  * Spark sends a row to partition `pmod(hash, partitions)`. A key group is `pmod(hash, maxParallelism)` of the same
  * hash, so where the number of partitions divides maxParallelism every key group lies in one partition whole.
  */
object KeyGroups {

  /** 256 * 225: divided by most numbers of partitions in use (powers of two to 256, 200, 1000 / 8, 12, 24, 48, 96, 150,
    * …).
    */
  val DefaultMaxParallelism: Int = 57600

  /** Two bytes hold a key group. */
  val MaxMaxParallelism: Int = 65535

  /** Bytes a key group takes before a key, big-endian so that groups sort. */
  val PrefixBytes: Int = 2

  def group(hash: Int, maxParallelism: Int): Int = Math.floorMod(hash, maxParallelism)

  def write(group: Int, target: Array[Byte], offset: Int): Unit = {
    target(offset) = (group >>> 8).toByte
    target(offset + 1) = group.toByte
  }

  def read(source: Array[Byte], offset: Int): Int = ((source(offset) & 0xff) << 8) | (source(offset + 1) & 0xff)
}
