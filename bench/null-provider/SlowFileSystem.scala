package io.snapline.bench

import java.io.{FilterOutputStream, OutputStream}
import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/** The local file system under the scheme `slow`, as far away as an object store: each operation takes a time, and
  * streams have a width.
  *
  * Settings: `fs.slow.latency-ms`, `fs.slow.bytes-per-second`, and `fs.slow.below`, a pattern of the paths that are far
  * away.
  */
final class SlowFileSystem extends RawLocalFileSystem {
  private var latencyMs = 0L
  private var nanosPerByte = 0.0
  private var far = ".*".r
  private val inside: ThreadLocal[Boolean] = ThreadLocal.withInitial(() => false)

  override def getScheme: String = "slow"
  override def getUri: URI = URI.create("slow:///")

  override def initialize(uri: URI, conf: Configuration): Unit = {
    super.initialize(uri, conf)
    latencyMs = conf.getLong("fs.slow.latency-ms", 50)
    nanosPerByte = 1e9 / conf.getLong("fs.slow.bytes-per-second", 50L << 20)
    far = conf.get("fs.slow.below", ".*").r
  }

  /** One operation of whoever calls from outside; what the local file system does for it is part of it. */
  private def operation[A](path: Path)(body: => A): A =
    if (inside.get || !far.matches(path.toUri.getPath)) body
    else {
      inside.set(true)
      try {
        Thread.sleep(latencyMs)
        body
      } finally inside.set(false)
    }

  private def transfer(path: Path, bytes: Long): Unit =
    if (far.matches(path.toUri.getPath)) {
      val nanos = (bytes * nanosPerByte).toLong
      Thread.sleep(nanos / 1000000, (nanos % 1000000).toInt)
    }

  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = operation(path) {
    slowed(path, super.create(path, overwrite, bufferSize, replication, blockSize, progress))
  }

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = operation(path) {
    slowed(path, super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress))
  }

  private def slowed(path: Path, stream: FSDataOutputStream): FSDataOutputStream =
    if (!inside.get) stream
    else new FSDataOutputStream(new Output(stream, path), null)

  /** Bytes travel while they are written; the close is a round trip. */
  private final class Output(out: OutputStream, path: Path) extends FilterOutputStream(out) {
    private var waiting = 0L
    private var closed = false

    override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
      out.write(bytes, offset, length)
      waiting += length
      if (waiting >= (1 << 20)) flushed()
    }

    override def write(b: Int): Unit = {
      out.write(b)
      waiting += 1
    }

    private def flushed(): Unit = {
      transfer(path, waiting)
      waiting = 0
    }

    override def close(): Unit = if (!closed) {
      closed = true
      flushed()
      operation(path)(out.close())
    }
  }

  override def open(path: Path, bufferSize: Int): FSDataInputStream = operation(path) {
    transfer(path, super.getFileStatus(path).getLen)
    super.open(path, bufferSize)
  }

  override def rename(from: Path, to: Path): Boolean = operation(to)(super.rename(from, to))
  override def delete(path: Path, recursive: Boolean): Boolean = operation(path)(super.delete(path, recursive))
  override def listStatus(path: Path): Array[FileStatus] = operation(path)(super.listStatus(path))
  override def getFileStatus(path: Path): FileStatus = operation(path)(super.getFileStatus(path))
  override def mkdirs(path: Path): Boolean = operation(path)(super.mkdirs(path))

  /** Without its native library Hadoop would start a process: no client of a store that is far away does. */
  override def setPermission(path: Path, permission: FsPermission): Unit =
    Files.setPosixFilePermissions(
      pathToFile(path).toPath,
      PosixFilePermissions.fromString(permission.toString)
    ): Unit
}
