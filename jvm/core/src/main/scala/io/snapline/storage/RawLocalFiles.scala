package io.snapline.storage

import java.nio.file.{FileSystems, Files}
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** Hadoop's local file system without the processes that it starts where its native library is missing, as it is in
  * pyspark's wheel: `chmod` for each file and folder that is made, and `readlink` for both ends of a rename of
  * `FileContext`. The files on disk are the same afterwards.
  */
private[storage] final class RawLocalFiles extends RawLocalFileSystem {

  override def setPermission(path: Path, permission: FsPermission): Unit =
    // Java knows nothing of the sticky bit, and Windows has other permissions.
    if (!RawLocalFiles.hasPermissions || permission.getStickyBit) super.setPermission(path, permission)
    else
      Files.setPosixFilePermissions(
        pathToFile(path).toPath,
        PosixFilePermissions.fromString(permission.toString)
      ): Unit

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)
}

private object RawLocalFiles {
  private val hasPermissions = FileSystems.getDefault.supportedFileAttributeViews.contains("posix")
}
