package io.snapline.storage

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/** Hadoop's local file system in a process that may open no further file. Java's own streams say so like this. */
final class NoHandlesFileSystem extends LocalFileSystem(new NoHandlesFileSystem.Raw)

object NoHandlesFileSystem {

  /** Local files are opened by such a process, for whoever has this configuration. */
  def in(configuration: Configuration): Unit = {
    configuration.setClass("fs.file.impl", classOf[NoHandlesFileSystem], classOf[FileSystem])
    configuration.setBoolean("fs.file.impl.disable.cache", true)
  }

  private def refused(path: Path) = new FileNotFoundException(s"$path (Too many open files)")

  private final class Raw extends RawLocalFileSystem {
    override def open(path: Path, buffer: Int): FSDataInputStream = throw refused(path)

    override def create(
        path: Path,
        overwrite: Boolean,
        buffer: Int,
        replication: Short,
        block: Long,
        progress: Progressable
    ): FSDataOutputStream = throw refused(path)

    override def create(
        path: Path,
        permission: FsPermission,
        overwrite: Boolean,
        buffer: Int,
        replication: Short,
        block: Long,
        progress: Progressable
    ): FSDataOutputStream = create(path, overwrite, buffer, replication, block, progress)
  }
}
