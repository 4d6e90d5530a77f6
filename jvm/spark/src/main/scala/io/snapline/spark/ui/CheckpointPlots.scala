package io.snapline.spark.ui

import scala.xml.NodeSeq

/** How duration and sizes went over time. */
private[ui] object CheckpointPlots {

  /** @param newestFirst
    *   all that is known of a query
    */
  def render(newestFirst: IndexedSeq[CheckpointRecord]): NodeSeq = {
    val checkpoints = newestFirst.reverse
    val completed = checkpoints.filter(_.hasCompleted)
    val failures = checkpoints.filter(_.failed.isDefined).map(_.triggeredMs).takeRight(MostFailures)
    def line(name: String, color: String, value: CheckpointRecord => Long): Line =
      Line(name, color, completed.map(c => c.triggeredMs -> value(c)))
    val duration = Seq(line("end to end", "--bs-primary", _.duration))
    val sizes = Seq(line("full", "--bs-primary", _.stateSize), line("checkpointed", "--bs-success", _.checkpointedSize))
    <div>
      {new Plot("Duration", duration, failures, Display.duration, Plot.roundNumber).render}
      {new Plot("Size", sizes, failures, Display.bytes, Plot.roundBytes).render}
    </div>
  }

  private val MostFailures = 200
}
