package io.snapline.state.rocksdb

import java.lang.management.ManagementFactory

import com.sun.management.UnixOperatingSystemMXBean

import io.snapline.error.StorageFailure

/** What to do about something that RocksDB refused: where files run out, no space helps. */
private[rocksdb] object RocksDbFailure {
  def apply(found: String, action: String, cause: Throwable): StorageFailure =
    new StorageFailure(found, if (tooManyFiles(cause)) moreFiles else action, cause)

  def ofRead(cause: Throwable): StorageFailure = apply(
    s"RocksDB could not read its local files: ${cause.getMessage}.",
    "see to the executor's local disk (spark.local.dir); the task is retried from the last version in storage.",
    cause
  )

  private def tooManyFiles(cause: Throwable): Boolean =
    Option(cause.getMessage).exists(_.contains("Too many open files"))

  private def moreFiles: String = {
    val open = ManagementFactory.getOperatingSystemMXBean match {
      case unix: UnixOperatingSystemMXBean =>
        s"it has ${unix.getOpenFileDescriptorCount} open and may have ${unix.getMaxFileDescriptorCount}"
      case _ => "it may have no more"
    }
    s"raise the limit of open files of this executor (ulimit -Hn), or spread its stores over more executors: $open."
  }
}
