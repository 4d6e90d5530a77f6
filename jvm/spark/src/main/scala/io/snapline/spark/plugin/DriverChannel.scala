package io.snapline.spark.plugin

import scala.util.control.NonFatal

import io.snapline.error.{InvalidConfiguration, StorageFailure}

/** The way from an executor to the driver's memory, and back with the answer. Any thread. */
trait DriverChannel {
  def ask(message: DriverMessage): AnyRef
}

object DriverChannel {
  private val Attempts = 3
  private val FirstPauseMs = 200L

  /** Over the plugin's RPC. A message is sent again when its answer does not come. */
  val plugin: DriverChannel = message => deliver(message, 1)

  private def deliver(message: DriverMessage, attempt: Int): AnyRef = {
    val to = ExecutorLink.plugin.getOrElse(throw new InvalidConfiguration(
      "State cannot be kept in the driver's memory: spark.plugins does not name io.snapline.spark.plugin.SnaplinePlugin, or Spark is ending.",
      "make the session with snapline.configure(), or add the class to spark.plugins before Spark starts."
    ))
    try to.ask(message)
    catch {
      case e: InterruptedException => throw e
      case NonFatal(_) if attempt < Attempts =>
        Thread.sleep(FirstPauseMs << attempt)
        deliver(message, attempt + 1)
      case NonFatal(e) =>
        throw new StorageFailure(
          s"The driver did not answer $message in $Attempts attempts: ${e.getMessage}.",
          "nothing if the driver has ended: its memory is gone, and the query needs a new checkpoint. Else see to the network; Spark tries the task again.",
          e
        )
    }
  }
}
