package io.snapline.spark.protocol

import scala.util.control.NonFatal

import org.json4s.{DefaultFormats, Formats}
import org.json4s.jackson.JsonMethods
import org.json4s.JsonDSL._

import io.snapline.checkpoint.StoreId
import io.snapline.error.InternalError
import io.snapline.snapshot.format.VersionRef

/** A version that a task has made and that came to its good end, and whose changes nobody but its executor has. */
final case class HeldStore(run: String, store: StoreId, ref: VersionRef)

/** An executor reports that it lives and which stores it holds. The answer is an array of orders, as texts
  * (HolderOrder).
  *
  * @param runs
  *   runs of all stores that it holds
  * @param stores
  *   stores that it has not reported before. May come twice
  */
final case class HoldersReport(executor: String, runs: Seq[String], stores: Seq[HeldStore])

/** An order of the driver to an executor that holds stores. It travels as text: an executor that has our jar from
  * `spark.jars` can read answers of Java's own classes only.
  */
sealed trait HolderOrder {
  private[spark] def text: String
}

object HolderOrder {

  /** Make a snapshot of this version for a checkpoint. May come twice. */
  final case class Take(query: String, run: String, store: StoreId, ref: VersionRef, checkpoint: Long)
      extends HolderOrder {
    override private[spark] def text: String = JsonMethods.compact(
      ("order" -> "take") ~
        ("query" -> query) ~
        ("run" -> run) ~
        ("operator" -> store.operator) ~
        ("partition" -> store.partition) ~
        ("store" -> store.store) ~
        ("version" -> ref.version) ~
        ("uid" -> ref.uid) ~
        ("checkpoint" -> checkpoint)
    )
  }

  /** No coordinator of this driver will ask for anything of the run. */
  final case class Forget(run: String) extends HolderOrder {
    override private[spark] def text: String = JsonMethods.compact(("order" -> "forget") ~ ("run" -> run))
  }

  private implicit val formats: Formats = DefaultFormats

  private[spark] def parse(text: String): HolderOrder =
    try {
      val json = JsonMethods.parse(text)
      def string(name: String): String = (json \ name).extract[String]
      def number(name: String): Long = (json \ name).extract[Long]
      string("order") match {
        case "take" =>
          val store = StoreId(number("operator"), number("partition").toInt, string("store"))
          Take(
            string("query"),
            string("run"),
            store,
            VersionRef(number("version"), string("uid")),
            number("checkpoint")
          )
        case "forget" => Forget(string("run"))
      }
    } catch { case NonFatal(e) => throw new InternalError(s"$text is no order: ${e.getMessage}") }
}
