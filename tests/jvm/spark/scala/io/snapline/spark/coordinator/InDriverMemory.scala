package io.snapline.spark.coordinator

import java.io.File
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import io.snapline.error.StorageFailure
import io.snapline.snapshot.format.TableFile
import io.snapline.snapshot.store.{StoredFiles, TestStorage}
import io.snapline.spark.protocol.{DriverMemoryStorage, DriverMessage}
import io.snapline.spark.protocol.DriverMessage._
import io.snapline.storage.{CheckpointStorage, Fault, FaultPlan}

/** Stores in a driver's memory, over a channel that loses messages, answers, or halves of what they carry. A driver
  * that ends takes its files along: here it lives.
  */
final class InDriverMemory extends TestStorage {
  private val memory = new DriverMemory
  private val plan = new AtomicReference[FaultPlan](FaultPlan.none)
  private val finished = new ConcurrentLinkedQueue[String]

  override def plain(folder: File): CheckpointStorage = new DriverMemoryStorage(folder.getPath, memory.answer(_))

  override def faulty(folder: File): CheckpointStorage = new DriverMemoryStorage(folder.getPath, ask(_))

  private def ask(message: DriverMessage): AnyRef = {
    val (operation, path) = message match {
      case Append(path, _, _, _) => "write" -> path
      case Finish(path, _, _) => "close" -> path
      case Abandon(path, _) => "abandon" -> path
      case Length(path) => "open" -> path
      case Read(path, _, _) => "read" -> path
      case List(folder) => "list" -> folder
      case Delete(path) => "delete" -> path
    }
    plan.get.next(s"$operation ${new File(path).getName}") match {
      case None => answer(message)
      case Some(Fault.After | Fault.CutOffAfter) =>
        answer(message): Unit
        throw lost(message)
      case Some(Fault.Silent) => half(message)
      case Some(_) => throw lost(message)
    }
  }

  private def answer(message: DriverMessage): AnyRef = {
    message match {
      case Finish(path, _, _) => finished.add(new File(path).getName): Unit
      case _ => ()
    }
    memory.answer(message)
  }

  private def half(message: DriverMessage): AnyRef = message match {
    case append: Append => answer(append.copy(bytes = append.bytes.take(append.bytes.length / 2)))
    case read: Read =>
      answer(read) match {
        case bytes: Array[Byte] => bytes.take(bytes.length / 2).padTo(bytes.length, 0.toByte)
        case other => other
      }
    case other => throw new IllegalArgumentException(s"$other has no halves")
  }

  private def lost(message: DriverMessage) = new StorageFailure(s"The driver did not answer $message.", "try again.")

  override def run[A](to: FaultPlan)(body: => A): A = {
    finished.clear()
    plan.set(to)
    try body
    finally plan.set(FaultPlan.none)
  }

  override def created: Seq[String] = finished.asScala.toSeq

  /** A file is not there before it is whole. */
  override val operations: Seq[String] = Seq("write", "close", "open", "read")

  /** A message is taken whole or not at all; what it carries may be cut short. */
  override def makesSense(operation: String, fault: Fault): Boolean = fault match {
    case Fault.Half => false
    case Fault.Silent => operation.startsWith("write ") || operation.startsWith("read ")
    case _ => super.makesSense(operation, fault)
  }

  override def files(folder: File): StoredFiles = new StoredFiles {
    private val storage = plain(folder)
    override def lengths: Map[String, Long] =
      Seq("", TableFile.Folder).flatMap(storage.list(_).map(file => file.name -> file.length)).toMap

    override def bytes(name: String): Array[Byte] = {
      val input = storage.open(name)
      val bytes = new Array[Byte](input.length.toInt)
      input.readFully(0, bytes, 0, bytes.length)
      bytes
    }

    override def write(name: String, bytes: Array[Byte]): Unit = {
      storage.delete(name): Unit
      val output = storage.create(name)
      output.write(bytes, 0, bytes.length)
      output.close()
    }

    override def delete(name: String): Unit = assert(storage.delete(name), s"$name is there")
  }

  override def remove(folder: File): Unit = {
    val all = files(folder)
    all.names.foreach(all.delete)
  }
}
