package io.snapline.storage

import java.io.{File, FilterOutputStream, IOException, OutputStream, RandomAccessFile}
import java.net.URI
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.util.Progressable

/** What goes wrong, and how. */
sealed trait Fault

object Fault {

  /** Nothing happens but the error. */
  case object Before extends Fault

  /** It happens, and an error is reported all the same. */
  case object After extends Fault

  /** A write or a file ends half-way, with an error. */
  case object Half extends Fault

  /** A write or a file ends half-way, and nobody says so. */
  case object Silent extends Fault

  /** As `Before`, and so does everything that follows: the process is cut off. */
  case object CutOff extends Fault

  /** As `After`, and everything that follows fails. */
  case object CutOffAfter extends Fault

  val all: Seq[Fault] = Seq(Before, After, Half, Silent, CutOff, CutOffAfter)
}

final class InjectedFault(what: String) extends IOException(s"injected into $what")

/** One fault at one operation. Any thread. */
class FaultPlan(at: Int, fault: Fault) {
  private val count = new AtomicInteger
  private val done = new ConcurrentLinkedQueue[String]
  @volatile private var fired: Option[String] = None

  /** The operation that was hit. */
  def hit: Option[String] = fired

  /** Everything that was asked for, in order. */
  def operations: Seq[String] = done.asScala.toSeq

  /** The fault for this operation, if it is its turn. */
  def next(operation: String): Option[Fault] = {
    done.add(operation)
    val number = count.getAndIncrement()
    if (number == at) {
      fired = Some(operation)
      Some(fault)
    } else if (number > at && (fault == Fault.CutOff || fault == Fault.CutOffAfter)) Some(Fault.Before)
    else None
  }
}

object FaultPlan {

  /** Counts, and harms nothing. */
  def none: FaultPlan = new FaultPlan(-1, Fault.Before)

  /** Whether the fault is another one than those before it, for such an operation. */
  def makesSense(operation: String, fault: Fault): Boolean = {
    val kind = operation.takeWhile(_ != ' ')
    fault match {
      case Fault.Before => true
      case Fault.After => Set("create", "write", "close", "delete")(kind)
      case Fault.Half => Set("write", "close")(kind)
      case Fault.Silent => Set("write", "close", "read")(kind)
      case Fault.CutOff | Fault.CutOffAfter => Set("create", "write", "close", "delete")(kind)
    }
  }
}

/** The raw local file system under the scheme `faulty`, with whatever fault [[FaultyFileSystem.plan]] asks for. */
final class FaultyFileSystem extends RawLocalFileSystem {
  import FaultyFileSystem._

  override def getScheme: String = Scheme
  override def getUri: URI = URI.create(s"$Scheme:///")

  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = doing("create", path) {
    val there = pathToFile(path).exists()
    created.add(s"${path.getName}${if (there) " (exists)" else ""}")
    val raw = super.create(path, overwrite, bufferSize, replication, blockSize, progress)
    new FSDataOutputStream(new FaultyOutput(raw, path), null)
  }

  private final class FaultyOutput(out: OutputStream, path: Path) extends FilterOutputStream(out) {
    private var closed = false
    private var silenced = false

    override def write(bytes: Array[Byte], offset: Int, length: Int): Unit =
      plan.get.next(s"write ${path.getName}") match {
        case _ if silenced => ()
        case None => out.write(bytes, offset, length)
        case Some(fault) =>
          fault match {
            case Fault.Before | Fault.CutOff => ()
            case Fault.After | Fault.CutOffAfter => out.write(bytes, offset, length)
            case Fault.Half => out.write(bytes, offset, length / 2)
            case Fault.Silent =>
              out.write(bytes, offset, length / 2)
              silenced = true
          }
          if (fault != Fault.Silent) throw new InjectedFault(s"write $path")
      }

    override def write(b: Int): Unit = write(Array(b.toByte), 0, 1)

    /** A second close after a failed one is no operation of its own. */
    override def close(): Unit = if (!closed) {
      closed = true
      plan.get.next(s"close ${path.getName}") match {
        case None => out.close()
        case Some(fault) =>
          out.close()
          if (fault == Fault.Before || fault == Fault.CutOff) cut(pathToFile(path), 0)
          if (fault == Fault.Half || fault == Fault.Silent) cut(pathToFile(path), 0.5)
          if (fault != Fault.Silent) throw new InjectedFault(s"close $path")
      }
    }
  }

  override def open(path: Path, bufferSize: Int): FSDataInputStream = doing("open", path) {
    new FSDataInputStream(new FaultyInput(super.open(path, bufferSize), path))
  }

  private final class FaultyInput(in: FSDataInputStream, path: Path) extends FSInputStream {
    override def seek(position: Long): Unit = in.seek(position)
    override def getPos: Long = in.getPos
    override def seekToNewSource(position: Long): Boolean = false
    override def read(): Int = in.read()
    override def read(bytes: Array[Byte], offset: Int, length: Int): Int = in.read(bytes, offset, length)
    override def close(): Unit = in.close()

    override def readFully(position: Long, bytes: Array[Byte], offset: Int, length: Int): Unit =
      plan.get.next(s"read ${path.getName}") match {
        case None => in.readFully(position, bytes, offset, length)
        // Half of the bytes, and nothing for the rest.
        case Some(Fault.Silent) => in.readFully(position, bytes, offset, length / 2)
        case Some(_) => throw new InjectedFault(s"read $path")
      }
  }

  override def delete(path: Path, recursive: Boolean): Boolean = doing("delete", path) {
    deleted.add(path.getName)
    super.delete(path, recursive)
  }

  override def listStatus(path: Path): Array[FileStatus] = doing("list", path)(super.listStatus(path))

  override def getFileStatus(path: Path): FileStatus =
    // The file system asks itself while it creates and deletes.
    if (inside.get) super.getFileStatus(path) else doing("status", path)(super.getFileStatus(path))

  private def doing[A](operation: String, path: Path)(body: => A): A =
    if (inside.get) body
    else {
      inside.set(true)
      try
        plan.get.next(s"$operation ${path.getName}") match {
          case Some(Fault.Silent) | None => body
          case Some(Fault.After | Fault.CutOffAfter) =>
            body: Unit
            throw new InjectedFault(s"$operation $path")
          case Some(_) => throw new InjectedFault(s"$operation $path")
        }
      finally inside.set(false)
    }
}

object FaultyFileSystem {
  val Scheme = "faulty"
  val plan = new AtomicReference[FaultPlan](FaultPlan.none)

  /** Names in the order they were created; those that existed are marked. */
  val created = new ConcurrentLinkedQueue[String]
  val deleted = new ConcurrentLinkedQueue[String]
  private val inside: ThreadLocal[Boolean] = ThreadLocal.withInitial(() => false)

  def configuration: Configuration = {
    val configuration = new Configuration
    configuration.set(s"fs.$Scheme.impl", classOf[FaultyFileSystem].getName)
    configuration
  }

  /** The same folder as the storage's, seen through this file system. */
  def over(storage: CheckpointStorage): CheckpointStorage =
    new HadoopCheckpointStorage(new Path(storage.location.replaceFirst("^file:", s"$Scheme:")), configuration)

  def run[A](to: FaultPlan)(body: => A): A = {
    created.clear()
    deleted.clear()
    plan.set(to)
    try body
    finally plan.set(FaultPlan.none)
  }

  private def cut(file: File, part: Double): Unit = {
    val access = new RandomAccessFile(file, "rw")
    try access.setLength((access.length * part).toLong)
    finally access.close()
  }
}
