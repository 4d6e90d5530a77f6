package io.snapline.spark.protocol

import io.snapline.error.StorageFailure

/** A request of an executor to the driver's memory. Every message may come twice: its answer was lost.
  *
  * Answers: `Append`, `Finish`, `Abandon` and `Delete` true or false, `Length` a Long (below zero: no such file),
  * `Read` bytes, `List` three arrays: names, lengths, and times of change in milliseconds since 1970; a text says why a
  * request was refused. They are made of Java's own classes: an executor that has our jar from `spark.jars` reads
  * answers by a class loader that does not know it, and loses its connection.
  */
sealed trait DriverMessage extends Serializable

object DriverMessage {

  /** Bytes at a position of a file that nobody sees yet. The writer's id keeps two of one name apart. */
  final case class Append(path: String, writer: String, position: Int, bytes: Array[Byte]) extends DriverMessage {
    override def toString: String = s"Append($path, $position, ${bytes.length} bytes)"
  }

  /** The file is whole. */
  final case class Finish(path: String, writer: String, length: Int) extends DriverMessage
  final case class Abandon(path: String, writer: String) extends DriverMessage
  final case class Length(path: String) extends DriverMessage
  final case class Read(path: String, position: Int, count: Int) extends DriverMessage
  final case class List(folder: String) extends DriverMessage
  final case class Delete(path: String) extends DriverMessage
}

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
