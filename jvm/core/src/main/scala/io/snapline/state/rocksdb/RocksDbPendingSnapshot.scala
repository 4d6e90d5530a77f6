package io.snapline.state.rocksdb

import java.io.File

import io.snapline.error.StorageFailure
import io.snapline.state.{LocalFolder, LocalSnapshot, PendingSnapshot}

/** A marker in the change queue. Owns `target` until `materialize` hands it over. */
private[rocksdb] final class RocksDbPendingSnapshot(target: File, backend: RocksDbBackend) extends PendingSnapshot
    with Runnable {
  @volatile private var done = false
  @volatile private var discarded = false
  private var failure: Throwable = _

  /** Called with the queue locked, by whoever drains it to here. Must not throw: a scan may be the caller. */
  override def run(): Unit = {
    if (!discarded) {
      try backend.hardLink(target)
      catch { case e: Throwable => failure = e }
    }
    done = true
  }

  override def materialize(): LocalSnapshot = {
    backend.drainUntil(() => done)
    if (!done || discarded)
      throw new StorageFailure("A snapshot was given up before it was made.", "nothing; the next one follows.")
    if (failure != null) {
      LocalFolder.delete(target)
      throw RocksDbFailure(
        s"RocksDB could not be snapshotted: ${failure.getMessage}.",
        "free space on the executor's local disk (spark.local.dir); the next commit tries again.",
        failure
      )
    }
    RocksDbPendingSnapshot.read(target)
  }

  override def discard(): Unit = {
    discarded = true
    if (done) LocalFolder.delete(target)
  }
}

private[rocksdb] object RocksDbPendingSnapshot {

  /** The files of a folder in which RocksDB made a checkpoint. */
  def read(folder: File): LocalSnapshot = {
    val files = folder.listFiles().toSeq.sortBy(_.getName)
    val (tables, rest) = files.partition(_.getName.endsWith(".sst"))
    LocalSnapshot(folder, tables, rest.filter(file => small(file.getName)))
  }

  /** Logs are empty (changes bypass them) and may be left out. */
  private def small(name: String): Boolean = name == "CURRENT" || name.startsWith("MANIFEST-") ||
    name.startsWith("OPTIONS-")
}
