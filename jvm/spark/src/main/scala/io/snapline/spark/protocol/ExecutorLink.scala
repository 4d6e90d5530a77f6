package io.snapline.spark.protocol

import scala.util.control.NonFatal

import org.apache.spark.api.plugin.PluginContext
import org.slf4j.LoggerFactory

import io.snapline.error.InvalidConfiguration
import io.snapline.snapshot.upload.SnapshotPool

/** The way from this executor to the driver. Messages go out in order, on a thread of its own; each is tried a few
  * times, because the driver takes one twice without harm and a lost one costs a checkpoint.
  */
object ExecutorLink {
  private val log = LoggerFactory.getLogger(getClass)
  private val Attempts = 4
  private val AskAttempts = 3
  private val FirstPauseMs = 200L
  @volatile private var context: PluginContext = _

  private lazy val sender = new SnapshotPool(1, "snapline-acknowledgements")

  private[spark] def open(to: PluginContext): Unit = context = to

  /** In local mode driver and executor are one JVM, and one of them closes first. */
  private[spark] def close(): Unit = {
    context = null
    StoreHolders.here.clear()
  }

  private[spark] def executor: String = Option(context).fold("")(_.executorID())

  /** Throws if the driver does not answer; whoever asks does so again and again. */
  private[spark] def ask(report: HoldersReport): Seq[HolderOrder] = Option(context).map(_.ask(report)) match {
    case Some(orders: Array[String]) => orders.toSeq.map(HolderOrder.parse)
    case _ => Nil
  }

  /** Waits for the driver's answer. A message is sent again when none comes.
    *
    * @param cannot
    *   what does not work without a way to the driver, as a sentence begins
    * @param unanswered
    *   what to throw when no answer came in so many attempts
    */
  private[spark] def ask(message: AnyRef, cannot: String)(unanswered: (Int, Throwable) => Exception): AnyRef =
    ask(message, cannot, 1)(unanswered)

  private def ask(message: AnyRef, cannot: String, attempt: Int)(unanswered: (Int, Throwable) => Exception): AnyRef = {
    val to = Option(context).getOrElse(throw new InvalidConfiguration(
      s"$cannot: spark.plugins does not name io.snapline.spark.plugin.SnaplinePlugin, or Spark is ending.",
      "make the session with snapline.configure(), or add the class to spark.plugins before Spark starts."
    ))
    try to.ask(message)
    catch {
      case e: InterruptedException => throw e
      case NonFatal(_) if attempt < AskAttempts =>
        Thread.sleep(FirstPauseMs << attempt)
        ask(message, cannot, attempt + 1)(unanswered)
      case NonFatal(e) => throw unanswered(AskAttempts, e)
    }
  }

  /** Returns at once. A message that cannot be delivered is logged: the driver gives the checkpoint up when its time is
    * over.
    *
    * @param answered
    *   told what the driver says to it
    */
  def tell(message: AnyRef, answered: Boolean => Unit): Unit = sender.submit(() => deliver(message, answered, 1))

  private def deliver(message: AnyRef, answered: Boolean => Unit, attempt: Int): Unit = {
    val to = context
    if (to != null) {
      try answered(to.ask(message) == java.lang.Boolean.TRUE)
      catch {
        case _: InterruptedException => Thread.currentThread().interrupt()
        case NonFatal(e) if attempt < Attempts =>
          log.info(s"The driver did not take $message, attempt $attempt: $e")
          Thread.sleep(FirstPauseMs << attempt)
          deliver(message, answered, attempt + 1)
        case NonFatal(e) => log.warn(s"The driver could not be told $message in $Attempts attempts.", e)
      }
    }
  }
}
