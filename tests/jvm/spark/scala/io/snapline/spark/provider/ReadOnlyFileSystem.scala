package io.snapline.spark.provider

import java.net.URI

import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.AccessControlException
import org.apache.hadoop.util.Progressable

/** The local file system under the scheme `readonly`, for somebody who may read only (whoever runs tests as root may
  * write anywhere).
  */
final class ReadOnlyFileSystem extends RawLocalFileSystem {
  override def getScheme: String = ReadOnlyFileSystem.Scheme
  override def getUri: URI = URI.create(s"${ReadOnlyFileSystem.Scheme}:///")

  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = refuse(path)

  override def mkdirs(path: Path): Boolean = refuse(path)
  override def mkdirs(path: Path, permission: FsPermission): Boolean = refuse(path)
  override def rename(from: Path, to: Path): Boolean = refuse(from)
  override def delete(path: Path, recursive: Boolean): Boolean = refuse(path)

  private def refuse(path: Path): Nothing = throw new AccessControlException(s"Permission denied: $path")
}

object ReadOnlyFileSystem {
  val Scheme = "readonly"
}
