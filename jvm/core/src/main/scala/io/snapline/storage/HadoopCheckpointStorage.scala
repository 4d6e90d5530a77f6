package io.snapline.storage

import java.io.{FileNotFoundException, IOException}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.util.functional.FutureIO

import io.snapline.error.{SnaplineException, StateNotFound, StorageFailure, UriPassword}

/** A folder of any Hadoop file system. Owns no connection: Hadoop caches file systems.
  *
  * The local file system is used without Hadoop's checksum files: ours cover every byte, and theirs double the number
  * of files.
  */
final class HadoopCheckpointStorage(root: Path, configuration: Configuration) extends CheckpointStorage {
  private lazy val fileSystem: FileSystem = wrap("open", root)(HadoopFileSystem.rawOf(root, configuration))

  override def location: String = UriPassword.hide(root.toString)

  override def create(name: String): StoredOutput = {
    val path = new Path(root, name)
    new Output(writing("create", path)(fileSystem.create(path, false)), path)
  }

  private final class Output(stream: FSDataOutputStream, path: Path) extends StoredOutput {
    private var bytes = 0L

    override def write(b: Int): Unit = {
      writing("write", path)(stream.write(b))
      bytes += 1
    }

    override def write(source: Array[Byte], offset: Int, length: Int): Unit = {
      writing("write", path)(stream.write(source, offset, length))
      bytes += length
    }

    /** A file system that lost bytes without a word must not have a version counted on it: the length is asked for. */
    override def close(): Unit = writing("close", path) {
      stream.close()
      val length = fileSystem.getFileStatus(path).getLen
      if (length != bytes) throw new IOException(s"$bytes bytes were written and $length are there")
    }

    override def abandon(): Unit = {
      release()
      try fileSystem.delete(path, false): Unit
      catch { case NonFatal(_) => () }
    }

    override def release(): Unit = {
      // An object store makes the object visible when its stream closes, unless it is aborted.
      try if (stream.hasCapability(StreamCapabilities.ABORTABLE_STREAM)) stream.abort(): Unit
      catch { case NonFatal(_) => () }
      try stream.close()
      catch { case NonFatal(_) => () }
    }
  }

  override def open(name: String): StoredInput = {
    val path = new Path(root, name)
    wrap("open", path) {
      val status = fileSystem.getFileStatus(path)
      // An object store need not be asked for the length a second time.
      val stream =
        try FutureIO.awaitFuture(fileSystem.openFile(path).withFileStatus(status).build())
        catch { case e: FileNotFoundException if fileSystem.exists(path) => throw failure("open", path, e) }
      new StoredInput {
        override val length: Long = status.getLen
        override def readFully(position: Long, target: Array[Byte], offset: Int, count: Int): Unit =
          wrap("read", path)(stream.readFully(position, target, offset, count))
        override def close(): Unit = stream.close()
      }
    }
  }

  override def list(folder: String): Seq[StoredFile] = {
    val path = if (folder.isEmpty) root else new Path(root, folder)
    val prefix = if (folder.isEmpty) "" else s"$folder/"
    try {
      wrap("list", path) {
        fileSystem.listStatus(path).toSeq.filter(_.isFile).map { status =>
          StoredFile(prefix + status.getPath.getName, status.getLen, status.getModificationTime)
        }
      }
    } catch { case _: StateNotFound => Nil }
  }

  /** There may be nothing in it. */
  def makeFolder(): Unit = wrap("make", root)(fileSystem.mkdirs(root): Unit)

  override def delete(name: String): Boolean = {
    val path = new Path(root, name)
    wrap("delete", path)(fileSystem.delete(path, false))
  }

  /** Java's files say that a file is not found when the process has too many open, or has no permission. Nobody looks
    * for a file that is being made.
    */
  private def writing[A](act: String, path: Path)(body: => A): A = wrap(act, path) {
    try body
    catch { case e: FileNotFoundException => throw failure(act, path, e) }
  }

  private def wrap[A](act: String, path: Path)(body: => A): A =
    try body
    catch {
      case e: SnaplineException => throw e
      case e: FileNotFoundException =>
        throw new StateNotFound(
          s"$path does not exist.",
          "check the checkpoint's path, and that nobody removes files below state/.",
          e
        )
      case e: IOException => throw failure(act, path, e)
      // Hadoop's local file system throws an Error when the disk is full.
      case e: FSError => throw failure(act, path, e)
    }

  private def failure(act: String, path: Path, e: Throwable): StorageFailure = new StorageFailure(
    s"Could not $act $path: ${e.getClass.getSimpleName}: ${e.getMessage}.",
    "check space, permissions and connection of the checkpoint's file system; the batch is retried and nothing in the checkpoint was changed.",
    e
  )
}
