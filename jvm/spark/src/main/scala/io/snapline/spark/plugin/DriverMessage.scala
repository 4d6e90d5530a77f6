package io.snapline.spark.plugin

/** What an executor asks of the driver's memory. Every message may come twice: its answer was lost.
  *
  * Answers: `Append`, `Finish`, `Abandon` and `Delete` true or false, `Length` a Long (below zero: no such file), `Read` bytes, `List` an array of [[MemoryFile]]; a text says
  * why a request was refused.
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

/** @param modified milliseconds since 1970 */
final case class MemoryFile(name: String, length: Long, modified: Long)
