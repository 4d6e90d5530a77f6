package io.snapline.storage

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem, FsConstants, FsServerDefaults, Path}
import org.apache.hadoop.fs.local.LocalConfigKeys

/** Hadoop's local file system for `FileContext`, through which Spark writes its logs, on [[RawLocalFiles]].
  * `fs.AbstractFileSystem.file.impl` names it; Hadoop makes it, by this constructor.
  */
final class LocalFs(uri: URI, configuration: Configuration) extends ChecksumFs(new LocalFs.Raw(uri, configuration))

private object LocalFs {

  private final class Raw(uri: URI, configuration: Configuration)
      extends DelegateToFileSystem(uri, new RawLocalFiles, configuration, FsConstants.LOCAL_FS_URI.getScheme, false) {
    override def getUriDefaultPort: Int = -1
    override def getServerDefaults(path: Path): FsServerDefaults = LocalConfigKeys.getServerDefaults
    override def getServerDefaults: FsServerDefaults = LocalConfigKeys.getServerDefaults
    override def isValidName(name: String): Boolean = true
  }
}
