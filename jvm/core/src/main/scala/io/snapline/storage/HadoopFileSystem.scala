package io.snapline.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, FsConstants, LocalFileSystem, Path, RawLocalFileSystem}

/** The file system of a path by Hadoop's settings, where Hadoop's own local one stands on [[RawLocalFiles]]. A class of
  * somebody else's stays as it is.
  */
object HadoopFileSystem {
  // Hive's jar, which Spark brings along, puts the second in the place of the first.
  private val replaced = Set(classOf[LocalFileSystem].getName, "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem")

  def of(path: Path, configuration: Configuration): FileSystem = path.getFileSystem(configuration) match {
    case local: LocalFileSystem if replaced(local.getClass.getName) && isHadoops(local.getRaw) =>
      new LocalFileSystem(rawLocal(configuration))
    case other => other
  }

  /** The same without Hadoop's checksum files. */
  def rawOf(path: Path, configuration: Configuration): FileSystem = path.getFileSystem(configuration) match {
    case local: LocalFileSystem => if (isHadoops(local.getRaw)) rawLocal(configuration) else local.getRaw
    case other => other
  }

  private def isHadoops(raw: FileSystem): Boolean = raw.getClass == classOf[RawLocalFileSystem]

  private def rawLocal(configuration: Configuration): RawLocalFiles = {
    val files = new RawLocalFiles
    files.initialize(FsConstants.LOCAL_FS_URI, configuration)
    files
  }
}
