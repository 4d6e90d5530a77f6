package io.snapline.spark.protocol

import io.snapline.error.StorageFailure

/** The way from an executor to the driver's memory, and back with the answer. Any thread. */
trait DriverChannel {
  def ask(message: DriverMessage): AnyRef
}

object DriverChannel {

  /** Over the plugin's RPC. */
  val plugin: DriverChannel = message =>
    ExecutorLink.ask(message, "State cannot be kept in the driver's memory") { (attempts, e) =>
      new StorageFailure(
        s"The driver did not answer $message in $attempts attempts: ${e.getMessage}.",
        "nothing if the driver has ended: its memory is gone, and the query needs a new checkpoint. Else see to the network; Spark tries the task again.",
        e
      )
    }
}
