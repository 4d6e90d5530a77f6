package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint.Ending

/** The run of the query that messages have to be of, and the numbers that its checkpoints get. */
private[checkpoint] final class CurrentRun {
  private var run: Option[String] = None
  private var over: Option[Ending] = None
  private var last = 0L

  /** None: nothing is known of the folder yet. */
  def id: Option[String] = run

  /** How it ended, if it has. */
  def ending: Option[Ending] = over

  def isRunning: Boolean = run.isDefined && over.isEmpty

  /** The greatest number that a checkpoint ever had. */
  def lastCheckpoint: Long = last

  def nextCheckpoint(): Long = {
    last += 1
    last
  }

  /** @param numbers
    *   of checkpoints that are there
    */
  def begins(id: String, numbers: Iterable[Long]): Unit = {
    run = Some(id)
    over = None
    last = (Seq(last) ++ numbers).max
  }

  def ends(how: Ending): Unit = over = Some(how)
}
