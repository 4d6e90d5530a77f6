package io.snapline.spark.provider

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.snapshot.merged.{HandleMerger, MergedFiles}
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.spark.settings.SparkLineCheck

/** What the stores of one query on this executor share of its merged files: what was read of them, and who writes them.
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

  /** One store's share, taken when it is first needed; whoever makes this closes it. What is being written then is
    * still written.
    */
  final class Share(root: Path, configuration: Configuration, settings: ProviderSettings) extends AutoCloseable {
    private val maxFileSize = settings.fileMerging.getOrElse(ProviderSettings.DefaultMergedFileSize)
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
