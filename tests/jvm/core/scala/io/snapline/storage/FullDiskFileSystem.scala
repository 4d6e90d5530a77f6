package io.snapline.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/** Hadoop's local file system on a disk without room: files can be made, and nothing can be written into them. The
  * kernel says so itself, of /dev/full.
  */
final class FullDiskFileSystem extends LocalFileSystem(new FullDiskFileSystem.Raw)

object FullDiskFileSystem {

  /** Local files are on such a disk, for whoever has this configuration. */
  def in(configuration: Configuration): Unit = {
    configuration.setClass("fs.file.impl", classOf[FullDiskFileSystem], classOf[FileSystem])
    configuration.setBoolean("fs.file.impl.disable.cache", true)
  }

  private final class Raw extends RawLocalFileSystem {
    override def create(
        path: Path,
        overwrite: Boolean,
        buffer: Int,
        replication: Short,
        block: Long,
        progress: Progressable
    ): FSDataOutputStream = {
      super.create(path, overwrite, buffer, replication, block, progress).close()
      append(new Path("/dev/full"), buffer, progress)
    }

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
