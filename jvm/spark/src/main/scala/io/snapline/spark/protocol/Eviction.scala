package io.snapline.spark.protocol

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.json4s.{DefaultFormats, Formats}
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods

import io.snapline.error.InternalError

/** The rows that an operator of Spark removes at the end of a micro-batch: those whose time has come. With it a store
  * can find them without a walk over the others (docs/notes/016-eviction.md).
  *
  * @param version
  *   the version of the state that the batch begins with
  * @param asked
  *   name of the state whose rows the operator asks for
  * @param timed
  *   name of the state whose rows have the times: the same, or that of a join's values, whose keys are those of `asked`
  *   with a number behind
  * @param until
  *   the last time that has come, in the column's unit
  */
final case class Eviction(
    operator: Long,
    version: Long,
    asked: String,
    timed: String,
    column: TimeColumn,
    until: Long
)

/** Where a state's rows have the time that decides.
  *
  * @param inKey
  *   whether it is in the key, which then never changes; else in the value
  * @param ordinal
  *   the place of a long, or of a struct of two with the time as the second, as windows are
  * @param inWindow
  *   whether it is such a struct
  * @param none
  *   the value that stands for no time
  */
final case class TimeColumn(inKey: Boolean, ordinal: Int, inWindow: Boolean, none: Option[Long])

object Eviction {

  /** A local property of the stream's thread. */
  val Property = "snapline.evictions"

  private implicit val formats: Formats = DefaultFormats

  def text(run: UUID, evictions: Seq[Eviction]): String = JsonMethods.compact(
    ("run" -> run.toString) ~
      ("evictions" -> evictions.map { each =>
        ("operator" -> each.operator) ~
          ("version" -> each.version) ~
          ("asked" -> each.asked) ~
          ("timed" -> each.timed) ~
          ("until" -> each.until) ~
          ("in_key" -> each.column.inKey) ~
          ("ordinal" -> each.column.ordinal) ~
          ("in_window" -> each.column.inWindow) ~
          ("none" -> each.column.none)
      })
  )

  /** Those of an operator in the batch of this task. A thread may have inherited the property, or have it of an earlier
    * batch: run and version must match.
    */
  def ofTask(run: UUID, operator: Long, version: Long): Seq[Eviction] =
    Option(TaskContext.get())
      .flatMap(task => Option(task.getLocalProperty(Property)))
      .fold(Seq.empty[Eviction])(parse(_, run))
      .filter(each => each.operator == operator && each.version == version)

  private[protocol] def parse(text: String, run: UUID): Seq[Eviction] =
    try {
      val json = JsonMethods.parse(text)
      if ((json \ "run").extract[String] != run.toString) Nil
      else
        (json \ "evictions").children.map { each =>
          Eviction(
            (each \ "operator").extract[Long],
            (each \ "version").extract[Long],
            (each \ "asked").extract[String],
            (each \ "timed").extract[String],
            TimeColumn(
              (each \ "in_key").extract[Boolean],
              (each \ "ordinal").extract[Int],
              (each \ "in_window").extract[Boolean],
              (each \ "none").extractOpt[Long]
            ),
            (each \ "until").extract[Long]
          )
        }
    } catch { case NonFatal(e) => throw new InternalError(s"$text names no evictions: ${e.getMessage}") }
}
