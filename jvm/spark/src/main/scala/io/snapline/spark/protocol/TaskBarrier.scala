package io.snapline.spark.protocol

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.json4s.{DefaultFormats, Formats}
import org.json4s.jackson.JsonMethods
import org.json4s.JsonDSL._

import io.snapline.error.InternalError

/** The driver's decisions about the micro-batch of a task. It travels as a local property of the stream's thread, as
  * JSON.
  *
  * @param run
  *   run id of the query: a thread that inherited the property has no part in it
  * @param replays
  *   whether the batch rebuilds state, and a run of its own follows for the next one
  * @param interval
  *   whether changes may stay on the executor until the next checkpoint
  * @param covered
  *   the version that a complete checkpoint has, 0 without one: with an interval, changelogs of later ones go to
  *   storage behind the batch; None: they stay on the executor
  * @param checkpoint
  *   number of the checkpoint to take of the version that this batch makes
  * @param owed
  *   number of the checkpoint to take of that version or a later one, by the stores of operators that may be ahead;
  *   `checkpoint` is for the others
  * @param mayBeAhead
  *   ids of those operators
  * @param awaited
  *   the oldest version that a checkpoint in progress is of: no `_metadata` names its files yet, and they are to stay
  * @param restore
  *   the checkpoint this run goes on from, as long as it is retained
  * @param merged
  *   whether handles of the query may lie in merged files, whatever its setting is now
  * @param alignment
  *   the treatment of rows for which there is no time
  */
final case class TaskBarrier(
    run: UUID,
    replays: Boolean,
    interval: Boolean,
    covered: Option[Long],
    checkpoint: Option[Long],
    owed: Option[Long],
    mayBeAhead: Set[Long],
    awaited: Option[Long],
    restore: Option[RestoreFrom],
    merged: Boolean,
    alignment: Alignment
) {
  def text: String = JsonMethods.compact(
    ("run" -> run.toString) ~
      ("replays" -> replays) ~
      ("interval" -> interval) ~
      ("covered" -> covered) ~
      ("checkpoint" -> checkpoint) ~
      ("owed" -> owed) ~
      ("may_be_ahead" -> mayBeAhead.toSeq) ~
      ("awaited" -> awaited) ~
      ("restore" -> restore.map(r => ("metadata" -> r.metadata) ~ ("version" -> r.version))) ~
      ("merged" -> merged) ~
      ("alignment" -> alignment.json)
  )
}

object TaskBarrier {
  val Property = "snapline.barrier"

  /** None for every query that was not started with a coordinator. */
  def ofTask(run: UUID): Option[TaskBarrier] =
    Option(TaskContext.get()).flatMap(task => Option(task.getLocalProperty(Property))).map(parse).filter(_.run == run)

  private implicit val formats: Formats = DefaultFormats

  private[spark] def parse(text: String): TaskBarrier =
    try {
      val json = JsonMethods.parse(text)
      TaskBarrier(
        UUID.fromString((json \ "run").extract[String]),
        (json \ "replays").extract[Boolean],
        (json \ "interval").extract[Boolean],
        (json \ "covered").extractOpt[Long],
        (json \ "checkpoint").extractOpt[Long],
        (json \ "owed").extractOpt[Long],
        (json \ "may_be_ahead").extract[Seq[Long]].toSet,
        (json \ "awaited").extractOpt[Long],
        (json \ "restore").extractOpt[RestoreFrom],
        (json \ "merged").extract[Boolean],
        Alignment.read(json \ "alignment")
      )
    } catch { case NonFatal(e) => throw new InternalError(s"$text is no barrier: ${e.getMessage}") }
}
