package io.snapline.spark.operator.channel

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A micro-batch whose rows, or some of them, wait in the channel: blocks `firstBlock` until
  * `firstBlock + blockRows.size`.
  *
  * @param schema
  *   number of the rows' schema
  * @param skip
  *   rows of the first block that have been processed
  * @param blockRows
  *   rows in each block
  */
private[channel] final case class WaitingSegment(
    segment: Segment,
    schema: Int,
    firstBlock: Long,
    skip: Int,
    blockRows: Seq[Int],
    bytes: Long
) {
  def rowCount: Long = blockRows.map(_.toLong).sum - skip

  /** Its rows in order. Each is good until the next is taken. */
  def rows(fields: Int, content: Long => Array[Byte]): Iterator[UnsafeRow] =
    blocks.iterator.zip(blockRows).zipWithIndex.flatMap { case ((block, rows), i) =>
      RowBlock.rows(content(block), fields, rows, if (i == 0) skip else 0)
    }

  def blocks: Seq[Long] = blockRows.indices.map(firstBlock + _)

  /** Without its first rows, and the blocks that are through with them. */
  def after(processed: Long): (WaitingSegment, Seq[Long]) = {
    var left = processed + skip
    var gone = 0
    while (gone < blockRows.size && left >= blockRows(gone)) {
      left -= blockRows(gone)
      gone += 1
    }
    val share = if (rowCount == 0) 0L else bytes * (rowCount - processed) / rowCount
    val rest = copy(firstBlock = firstBlock + gone, skip = left.toInt, blockRows = blockRows.drop(gone), bytes = share)
    (rest, blocks.take(gone))
  }
}
