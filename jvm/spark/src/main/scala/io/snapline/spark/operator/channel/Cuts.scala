package io.snapline.spark.operator.channel

import io.snapline.error.IncompatibleState

/** Decides where the task of one partition stops in a micro-batch, and sees that it stays so. One task's, on its thread. */
trait Cuts {

  /** Whether a segment, and all after it, is left to the next batch before it has begun. */
  def before(segment: Segment): Boolean

  def limit(segment: Segment): RowLimit

  /** Where rows of the batch's own are to wait again that did before; such a task sees its rows twice. */
  def again: Option[RowsThatWait]

  /** The task has stopped in a segment; of the batch's own, `left` are the rows that wait.
    *
    * @param processed
    *   rows of the segment
    */
  private[operator] def stopped(segment: Segment, processed: Long, own: Boolean, left: Seq[RowIdentity]): Unit

  /** The task has stopped nowhere. */
  def whole(): Unit

  /** Whether `stopped` wants to know which rows wait. */
  def wantsRows: Boolean
}

object Cuts {

  /** Never. */
  object None extends Cuts {
    override def before(segment: Segment): Boolean = false
    override def limit(segment: Segment): RowLimit = RowLimit.None
    override def again: Option[RowsThatWait] = scala.None
    override private[operator] def stopped(s: Segment, processed: Long, own: Boolean, left: Seq[RowIdentity]): Unit = ()
    override def whole(): Unit = ()
    override def wantsRows: Boolean = false
  }

  /** When the time is up. */
  final class Timed(budget: TimeBudget, records: CutRecords) extends Cuts {
    override def before(segment: Segment): Boolean = budget.isOver
    override def limit(segment: Segment): RowLimit = budget
    override def again: Option[RowsThatWait] = scala.None
    override def wantsRows: Boolean = true
    override def whole(): Unit = ()

    override private[operator] def stopped(
        segment: Segment,
        processed: Long,
        own: Boolean,
        left: Seq[RowIdentity]
    ): Unit =
      records.write(
        if (own && processed > 0) CutRecord.Within(left) else CutRecord.At(segment.batch, processed)
      )
  }

  /** An attempt that is not the first.
    *
    * @param committed
    *   the batch ran to its end before
    */
  def repeated(records: CutRecords, committed: Boolean, batch: Long): Cuts = records.find(committed) match {
    case Some(record) => new Repeated(record, batch)
    case scala.None => new Unnoted(if (committed) scala.None else Some(records))
  }

  private final class Unnoted(note: Option[CutRecords]) extends Cuts {
    override def before(segment: Segment): Boolean = false
    override def limit(segment: Segment): RowLimit = RowLimit.None
    override def again: Option[RowsThatWait] = scala.None
    override private[operator] def stopped(s: Segment, processed: Long, own: Boolean, left: Seq[RowIdentity]): Unit = ()
    override def whole(): Unit = note.foreach(_.write(CutRecord.Whole))
    override def wantsRows: Boolean = false
  }

  private final class Repeated(record: CutRecord, batch: Long) extends Cuts {
    override val again: Option[RowsThatWait] = record match {
      case CutRecord.Within(left) => Some(new RowsThatWait(left))
      case _ => scala.None
    }

    override def before(segment: Segment): Boolean = record match {
      case CutRecord.At(at, processed) => segment.batch > at || segment.batch == at && processed == 0
      case _ => false
    }

    override def limit(segment: Segment): RowLimit = record match {
      case CutRecord.At(at, processed) if segment.batch == at => new RowLimit.First(processed)
      case CutRecord.Within(_) if segment.batch == batch => RowLimit.RowsOnly
      case _ => RowLimit.None
    }

    override def wantsRows: Boolean = false

    override private[operator] def stopped(s: Segment, processed: Long, own: Boolean, left: Seq[RowIdentity]): Unit =
      again.map(_.missing).filter(_ > 0).foreach(rows => notThere(s"$rows of the rows that waited at its end"))

    override def whole(): Unit = if (record != CutRecord.Whole) notThere("the segment it stopped in")

    private def notThere(what: String): Nothing = throw new IncompatibleState(
      s"Batch $batch is run again, and what it left is not there any more: $what.",
      "the input must be the same when it is read again: take rand(), now() and their like, and sources that cannot be " +
        "read twice, out of what leads to the keyed function."
    )
  }
}
