package io.snapline.spark.operator.channel

import io.snapline.error.IncompatibleState

/** Decides where the task of one partition stops in a micro-batch, and sees that it stays so. Unless a kind says
  * otherwise, it stops nowhere. One task's, on its thread.
  */
abstract class Cuts {

  /** Whether a segment, and all after it, is left to the next batch before it has begun. */
  def before(segment: Segment): Boolean = false

  def limit(segment: Segment): RowLimit = RowLimit.None

  /** Where rows of the batch's own are to wait again that did before; such a task sees its rows twice. */
  private[operator] def again: Option[RowsThatWait] = None

  /** Whether `stopped` is to say which of the batch's own rows wait. */
  private[operator] def wantsRows: Boolean = false

  /** The task has stopped there. */
  private[operator] def stopped(at: CutRecord): Unit = ()

  /** The task has stopped nowhere. */
  private[operator] def whole(): Unit = ()
}

object Cuts {
  object Never extends Cuts

  /** When the time is up. */
  final class Timed(budget: TimeBudget, records: CutRecords) extends Cuts {
    override def before(segment: Segment): Boolean = budget.isOver
    override def limit(segment: Segment): RowLimit = budget
    override private[operator] def wantsRows: Boolean = true
    override private[operator] def stopped(at: CutRecord): Unit = records.write(at)
  }

  /** An attempt that is not the first.
    *
    * @param committed
    *   the batch ran to its end before
    */
  def repeated(records: CutRecords, committed: Boolean, batch: Long): Cuts = records.find(committed) match {
    case Some(record) => new Repeated(record, batch)
    case None if committed => Never
    case None => new Unnoted(records)
  }

  /** Nothing was noted of a batch that has not ended: an attempt that Spark has abandoned may still run. */
  private final class Unnoted(records: CutRecords) extends Cuts {
    override private[operator] def whole(): Unit = records.write(CutRecord.Whole)
  }

  private final class Repeated(record: CutRecord, batch: Long) extends Cuts {
    override private[operator] val again: Option[RowsThatWait] = record match {
      case CutRecord.Within(left) =>
        Some(new RowsThatWait(left, missing => notThere(batch, s"$missing of the rows that waited at its end")))
      case _ => None
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

    override private[operator] def whole(): Unit =
      if (record != CutRecord.Whole) notThere(batch, "the segment it stopped in")
  }

  private def notThere(batch: Long, what: String): Nothing = throw new IncompatibleState(
    s"Batch $batch is run again, and what it left is not there any more: $what.",
    "the input must be the same when it is read again: take rand(), now() and their like, and sources that cannot be " +
      "read twice, out of what leads to the keyed function."
  )
}
