package io.snapline.spark.provider

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.snapline.StateMemory
import org.slf4j.LoggerFactory

import io.snapline.snapshot.merged.{HandleMerger, MergedFiles}
import io.snapline.snapshot.upload.SnapshotPool
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.spark.settings.SparkLineCheck
import io.snapline.state.heap.HeapMemory
import io.snapline.state.rocksdb.RocksDbMemory
import io.snapline.state.rowtable.PageMemory
import io.snapline.state.timeindex.IndexMemory

/** The merged files of one query, as its stores on this executor share them: their content that was read, and their
  * writer.
  */
private[provider] final class ExecutorMerging(root: Path, configuration: Configuration, maxFileSize: Long) {
  private val storage = CheckpointFolder.mergedStorage(root, configuration)
  val files = new MergedFiles(storage)
  lazy val merger = new HandleMerger(storage, maxFileSize, SparkLineCheck.version)
}

private[provider] object ExecutorMerging {
  private val shared = mutable.HashMap.empty[(Path, Long), (ExecutorMerging, Int)]

  private def take(key: (Path, Long), make: => ExecutorMerging): ExecutorMerging = synchronized {
    val (there, users) = shared.getOrElse(key, (make, 0))
    shared(key) = (there, users + 1)
    there
  }

  private def giveBack(key: (Path, Long)): Unit = synchronized {
    shared.get(key).foreach { case (there, users) =>
      if (users > 1) shared(key) = (there, users - 1) else shared -= key: Unit
    }
  }

  /** One store's share, taken when it is first needed. Its maker closes it. A file that is being written then is still
    * completed.
    */
  final class Share(root: Path, configuration: Configuration, settings: ProviderSettings) extends AutoCloseable {
    private val maxFileSize = settings.mergedFileSize
    private val key = (root, maxFileSize)
    private var taken: Option[ExecutorMerging] = None

    def get: ExecutorMerging = synchronized {
      taken.getOrElse {
        val there = take(key, new ExecutorMerging(root, configuration, maxFileSize))
        taken = Some(there)
        there
      }
    }

    override def close(): Unit = synchronized {
      if (taken.isDefined) giveBack(key)
      taken = None
    }
  }
}

/** Memory and threads that all stores of a JVM share. Made by the first provider, never closed. */
final class SharedResources private (settings: ProviderSettings) {
  @volatile private var rocksDb: Option[RocksDbMemory] = None
  lazy val native: RocksDbMemory = {
    val made = new RocksDbMemory(settings.nativeMemory)
    rocksDb = Some(made)
    made
  }
  val pages = new PageMemory(settings.tableMemory)
  val heap = new HeapMemory(settings.backend.heapLimit)
  val snapshots = new SnapshotPool(settings.snapshotThreads)

  /** Not behind snapshots, which may take minutes. */
  val changelogs = new SnapshotPool(settings.snapshotThreads, "snapline-changelog")

  private val memory = Seq(
    StateMemory.onHeap(() => pages.used + heap.used + IndexMemory.all),
    StateMemory.offHeap(() => rocksDb.fold(0L)(_.cache.getUsage))
  )
}

object SharedResources {
  private val log = LoggerFactory.getLogger(classOf[SharedResources])
  private var made: SharedResources = _
  private var madeFor: (Long, Long, Long, Int) = _

  /** A later provider with other sizes gets what is there: the memory of a JVM is set once. */
  def get(settings: ProviderSettings): SharedResources = synchronized {
    val wanted =
      (settings.nativeMemory, settings.tableMemory, settings.backend.heapLimit, settings.snapshotThreads)
    if (made == null) {
      made = new SharedResources(settings)
      madeFor = wanted
    } else if (madeFor != wanted) {
      log.warn(
        s"(native memory, table memory, heap limit, snapshot threads) of this JVM were set to $madeFor by its first query; " +
          s"$wanted is used after a restart."
      )
    }
    StateMemory.report(made.memory)
    made
  }
}
