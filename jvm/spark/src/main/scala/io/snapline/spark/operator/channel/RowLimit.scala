package io.snapline.spark.operator.channel

import scala.collection.mutable

/** How many of a segment's rows a task may process. Told of every chunk; one thread. */
trait RowLimit {

  /** Rows the next chunk may have; 0: the rest waits. May be asked more than once before a chunk is sent. */
  def next(atMost: Int): Int

  def sent(rows: Int): Unit = ()

  /** The chunk that was sent first of those under way has been processed. */
  def through(): Unit = ()

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

/** The time a task has for its rows. At least one chunk is processed, however little there is.
  *
  * Chunks begin with a few rows and grow to a sixteenth of the time each, so that slow rows are noticed early, and quick ones do not pay for it.
  */
final class TimeBudget(budgetMs: Long, now: () => Long = () => System.nanoTime()) extends RowLimit {
  import TimeBudget._

  private val slice = budgetMs * 1e6 / Slices
  private val deadline = now() + budgetMs * 1000000L
  private val underWay = mutable.Queue.empty[Int]
  private var busySince = 0L
  private var nanosPerRow = 0.0
  private var largest = FirstRows
  private var started = false
  private var warm = false

  /** Whether it is used up, and something has come of it. */
  def isOver: Boolean = started && now() >= deadline

  override def next(atMost: Int): Int =
    if (!started) math.min(atMost, FirstRows)
    else {
      val time = now()
      if (time >= deadline) 0
      else if (nanosPerRow == 0) math.min(atMost, FirstRows)
      else {
        val left = deadline - time - underWay.sum * nanosPerRow
        val fitting = (math.min(left, slice) / nanosPerRow).toLong
        // One row may take longer than a slice.
        val rows = if (fitting == 0 && left > nanosPerRow) 1L else fitting
        math.max(0L, math.min(rows, math.min(largest, atMost).toLong)).toInt
      }
    }

  override def sent(rows: Int): Unit = {
    started ||= rows > 0
    if (rows >= largest) largest = math.min(largest.toLong * Growth, Int.MaxValue.toLong).toInt
    if (underWay.isEmpty) busySince = now()
    underWay.enqueue(rows): Unit
  }

  override def through(): Unit = {
    val time = now()
    val rows = underWay.dequeue()
    // The first chunk waits for the worker to come up, which says nothing of rows.
    if (rows > 0 && !warm) warm = true
    else if (rows > 0) {
      val measured = math.max(1.0, (time - busySince).toDouble / rows)
      nanosPerRow = if (nanosPerRow == 0) measured else (nanosPerRow + measured) / 2
    }
    busySince = time
  }
}

private object TimeBudget {
  private val Slices = 16
  private val FirstRows = 4
  private val Growth = 4
}
