package io.snapline.spark.operator.channel

import org.apache.spark.sql.catalyst.InternalRow

/** How many of a segment's rows a task may process. Told of every chunk; one thread. */
trait RowLimit {

  /** Rows the next chunk may have; 0: the rest waits. May be asked more than once before a chunk is sent. */
  def next(atMost: Int): Int

  /** A row of the chunk that is being made; good until the next is taken. */
  def took(row: InternalRow): Unit = ()

  /** So many of the rows that were taken last are taken again, for a later chunk. */
  def gaveBack(rows: Int): Unit = ()

  def sent(rows: Int): Unit = ()

  /** The chunk that was sent first of those under way is done with.
    *
    * @param left
    *   so many of its last rows the worker has not processed
    */
  def through(left: Int): Unit = ()

  /** What the worker may be told to stop after, wherever it is; it processes one row at least. */
  def timeLeftMs: Option[Long] = scala.None

  /** Rows that were sent and not processed, in their order. */
  def returned: Seq[InternalRow] = Nil

  /** Whether timers wait although no row is left: the rows that do were taken out before. */
  def waitsAtEnd: Boolean = false
}

object RowLimit {

  object None extends RowLimit {
    override def next(atMost: Int): Int = atMost
  }

  /** The first rows of a segment. */
  final class First(rows: Long) extends RowLimit {
    private var left = rows

    override def next(atMost: Int): Int = math.min(atMost.toLong, left).toInt

    override def sent(rows: Int): Unit = left -= rows
  }

  /** All there are, but not the timers. */
  object RowsOnly extends RowLimit {
    override def next(atMost: Int): Int = atMost

    override def waitsAtEnd: Boolean = true
  }
}
