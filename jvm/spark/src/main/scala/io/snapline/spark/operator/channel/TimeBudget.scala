package io.snapline.spark.operator.channel

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow

/** The time a task has for its rows. At least one chunk is begun, however little there is.
  *
  * A worker that stops by itself gets chunks as large as any: to make a row and to take it back costs microseconds, and
  * each chunk costs milliseconds. For one that cannot stop within a chunk they begin with a few rows and grow to a
  * sixteenth of the time each: slow rows are noticed early, and quick ones pay for it.
  *
  * @param stopsWithin
  *   whether the worker stops within a chunk; rows that were sent are kept until it has said how far it came
  */
final class TimeBudget(budgetMs: Long, stopsWithin: Boolean, now: () => Long = () => System.nanoTime())
    extends RowLimit {
  import TimeBudget._

  private val slice = budgetMs * 1e6 / Slices
  private val deadline = now() + budgetMs * 1000000L
  private val underWay = mutable.Queue.empty[Int]
  private val kept = mutable.Queue.empty[mutable.ArrayBuffer[InternalRow]]
  private var keeping = mutable.ArrayBuffer.empty[InternalRow]
  private val back = mutable.ArrayBuffer.empty[InternalRow]
  private var busySince = 0L
  private var nanosPerRow = 0.0
  private var largest = FewRows
  private var started = false
  private var warm = false

  /** Whether it is used up, and something has come of it. */
  def isOver: Boolean = started && now() >= deadline

  override def next(atMost: Int): Int =
    if (!started) first(atMost)
    else {
      val time = now()
      if (time >= deadline) 0
      else if (stopsWithin || nanosPerRow == 0) first(atMost)
      else {
        val left = deadline - time - underWay.sum * nanosPerRow
        val fitting = (math.min(left, slice) / nanosPerRow).toLong
        // One row may take longer than a slice.
        val rows = if (fitting == 0 && left > nanosPerRow) 1L else fitting
        math.max(0L, math.min(rows, math.min(largest, atMost).toLong)).toInt
      }
    }

  private def first(atMost: Int): Int = if (stopsWithin) atMost else math.min(atMost, FewRows)

  override def took(row: InternalRow): Unit = if (stopsWithin) keeping += row.copy()

  override def gaveBack(rows: Int): Unit = keeping.dropRightInPlace(rows): Unit

  override def sent(rows: Int): Unit = {
    started ||= rows > 0
    if (rows >= largest) largest = math.min(largest.toLong * Growth, Int.MaxValue.toLong).toInt
    if (underWay.isEmpty) busySince = now()
    underWay.enqueue(rows): Unit
    kept.enqueue(keeping): Unit
    keeping = mutable.ArrayBuffer.empty
  }

  override def through(left: Int): Unit = {
    val time = now()
    val rows = underWay.dequeue() - left
    back ++= kept.dequeue().takeRight(left)
    // The first chunk waits for the worker to come up, which says nothing of rows.
    if (rows > 0 && !warm) warm = true
    else if (rows > 0) {
      val measured = math.max(1.0, (time - busySince).toDouble / rows)
      nanosPerRow = if (nanosPerRow == 0) measured else (nanosPerRow + measured) / 2
    }
    busySince = time
  }

  override def timeLeftMs: Option[Long] =
    if (stopsWithin) Some(math.max(0L, (deadline - now()) / 1000000L)) else None

  override def returned: Seq[InternalRow] = back.toSeq
}

private object TimeBudget {
  private val Slices = 16
  private val FewRows = 4
  private val Growth = 4
}

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

  /** The milliseconds after which the worker stops, wherever it is. It processes one row at least. */
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
