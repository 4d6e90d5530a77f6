package io.snapline.spark.savepoint

import java.util.concurrent.{Callable, ExecutionException, Executors}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.util.SerializableConfiguration

import io.snapline.checkpoint.StoreId
import io.snapline.snapshot.format.Origin
import io.snapline.snapshot.merged.{MergedFiles, MergedStorage, NewestOrigin}
import io.snapline.snapshot.store.{CopiedVersion, VersionCopy}
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage}

/** Copies versions of stores, file by file, in tasks of some threads each. */
private[savepoint] final class StoreCopies(from: String, to: String, configuration: SerializableConfiguration)
    extends Serializable {

  /** Copies the stores of one task. The rest of a failed copy lies in a folder that nobody takes for complete.
    *
    * @param stores
    *   each store to copy, and its place in the new folder
    */
  def run(stores: Seq[(StoreVersion, StoreId)]): Seq[CopiedVersion] = {
    val (source, target) = (new StoreFolders(from, configuration.value), new StoreFolders(to, configuration.value))
    // A task that died has left files under the names that this one gives, and one beside it makes them now.
    val isAgain = Option(TaskContext.get()).exists(_.attemptNumber() > 0)
    val copies = stores.map { case (store, id) =>
      val each: Callable[CopiedVersion] = () =>
        new VersionCopy(source.of(store.id), target.files(id), isAgain).run(store.version, store.uid)
      each
    }
    val threads = Executors.newFixedThreadPool(math.max(1, math.min(stores.size, StoreCopies.Threads)))
    try threads.invokeAll(copies.asJava).asScala.map(_.get).toSeq
    catch { case e: ExecutionException => throw e.getCause }
    finally threads.shutdownNow(): Unit
  }
}

private object StoreCopies {

  /** An object store answers slowly, and many at once. */
  val Threads = 8
}

/** The stores of a checkpoint, or of a native savepoint, which has them in the same places. Owns nothing. Any thread.
  */
private[savepoint] final class StoreFolders(root: String, configuration: Configuration) {
  private val merged = new MergedFiles(CheckpointFolder.mergedStorage(new Path(root), configuration))

  /** The store's files, those in merged files included. */
  def of(id: StoreId): CheckpointStorage = new MergedStorage(files(id), id.folder, merged, () => true)

  /** The store's folder alone, to write to. */
  def files(id: StoreId): CheckpointStorage = new HadoopCheckpointStorage(new Path(root, id.folder), configuration)

  /** Under which settings a store was written; None: nobody can tell. */
  def origin(id: StoreId): Option[Origin] = NewestOrigin.of(files(id)).orElse(NewestOrigin.of(merged))
}
