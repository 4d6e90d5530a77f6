package io.snapline.spark.plugin

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{Callable, ExecutionException, Executors, ExecutorService}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.execution.streaming.state.StateStoreId

import io.snapline.checkpoint._
import io.snapline.error.{CheckpointDamaged, NotACheckpoint, StateNotFound, StorageFailure}
import io.snapline.snapshot.{HandleMeta, SnapshotCheck, SnapshotSearch, SnapshotSweep}
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage}

/** The checkpoint folder of one query, as its driver uses it. Owns a few threads for what many stores need at once; any thread may call. */
private[spark] final class CheckpointFolder(val root: Path, configuration: Configuration) extends AutoCloseable {
  private val own = new Path(root, CheckpointFolder.Own)
  private val storage = new HadoopCheckpointStorage(own, configuration)
  private lazy val fileSystem: FileSystem = root.getFileSystem(configuration)
  private lazy val threads: ExecutorService = Executors.newFixedThreadPool(
    CheckpointFolder.Threads,
    (task: Runnable) => {
      val thread = new Thread(task, "snapline-checkpoint-files")
      thread.setDaemon(true)
      thread
    }
  )

  /** The id Spark gave the query; it is there before the first batch is planned. */
  def queryId: String = new ObjectMapper().readTree(text("metadata")).path("id").asText

  /** Both entries of a batch that is committed. */
  def entries(batch: Long): LogEntries = LogEntries(text(s"offsets/$batch"), text(s"commits/$batch"))

  def isCommitted(batch: Long): Boolean = fileSystem.exists(new Path(root, s"commits/$batch"))

  /** Greatest number of a checkpoint, whole or not; 0 if there is none. */
  def highestId: Long = ids.lastOption.getOrElse(0L)

  /** Checkpoints whose metadata is whole, oldest first, and its length. What is not whole never existed; what cannot be read for another reason is no less there, and its
    * files are not to be taken for unnamed: that failure is thrown.
    */
  def completed(): Seq[(CheckpointMetadata, Long)] = ids.flatMap { id =>
    try Some(CheckpointMetadata.read(storage, id))
    catch { case _: CheckpointDamaged | _: NotACheckpoint | _: StateNotFound => None }
  }

  private def ids: Seq[Long] = {
    val found =
      try fileSystem.listStatus(own).toSeq.filter(_.isDirectory)
      catch { case _: FileNotFoundException => Nil }
    found.flatMap(folder => CheckpointMetadata.number(folder.getPath.getName)).sorted
  }

  /** Reads every handle back before the metadata names it. Throws what is wrong with one. */
  def verify(handles: Map[StoreId, StateHandle]): Unit = inParallel(handles.toSeq) { case (store, handle) =>
    new SnapshotCheck(stateOf(store)).check(handle.ref): Unit
  }

  /** Snapshots of a version that a run has made, and the lengths of their handles. */
  def handlesOf(store: StoreId, version: Long, run: String): Seq[(HandleMeta, Long)] =
    new SnapshotSearch(stateOf(store)).of(version, run)

  /** The checkpoint exists when this returns. */
  def write(metadata: CheckpointMetadata): Long = metadata.write(storage)

  /** Metadata first, and nothing else if it cannot be removed: a checkpoint some of whose files are gone must not look whole. Then handles, then what they named. */
  def delete(what: Action.Delete): Unit = {
    if (what.metadata) {
      storage.delete(CheckpointMetadata.name(what.checkpoint)): Unit
      removeFolder(what.checkpoint)
    }
    Seq(what.handles, what.tables).foreach(inParallel(_)(file => stateOf(file.store).delete(file.name): Unit))
  }

  /** Removes what crashes and replays have left below these checkpoints.
    *
    * @param oldest
    *   version of the oldest one a recovery may take
    */
  def sweep(named: Seq[CompletedCheckpoint], oldest: Long): Unit = {
    val stores = named.flatMap(_.handles.keys).distinct
    inParallel(stores) { store =>
      new SnapshotSweep(stateOf(store)).run(oldest, named.flatMap(_.handles.get(store).map(_.ref)).toSet): Unit
    }
  }

  /** Only if nothing is left in it. */
  private def removeFolder(checkpoint: Long): Unit = {
    val folder = new Path(own, CheckpointMetadata.folder(checkpoint))
    try if (fileSystem.listStatus(folder).isEmpty) fileSystem.delete(folder, false): Unit
    catch { case _: FileNotFoundException => () }
  }

  def metadataPath(checkpoint: Long): String = new Path(own, CheckpointMetadata.name(checkpoint)).toString

  override def close(): Unit = threads.shutdown()

  private def stateOf(store: StoreId): CheckpointStorage =
    new HadoopCheckpointStorage(
      StateStoreId(
        new Path(root, "state").toString,
        store.operator,
        store.partition,
        store.store
      ).storeCheckpointLocation(),
      configuration
    )

  private def text(name: String): String = {
    val path = new Path(root, name)
    try {
      val input = fileSystem.open(path)
      try new String(input.readAllBytes(), UTF_8)
      finally input.close()
    } catch {
      case e: FileNotFoundException =>
        throw new StateNotFound(s"$path does not exist.", "check the checkpoint's path.", e)
      case e: IOException =>
        throw new StorageFailure(s"Could not read $path: $e.", "see to the checkpoint's file system.", e)
    }
  }

  private def inParallel[A](items: Seq[A])(body: A => Unit): Unit = {
    val tasks = items.map(item => (() => body(item)): Callable[Unit])
    threads.invokeAll(tasks.asJava).asScala.foreach { done =>
      try done.get()
      catch { case e: ExecutionException => throw e.getCause }
    }
  }
}

private[spark] object CheckpointFolder {
  private val Threads = 4
  private val Own = "snapline"
}

/** What Spark's two logs say of one batch, as they stand there. */
private[spark] final case class LogEntries(offsets: String, commit: String) {

  /** Of the batch after this one; 0 if there is none. A commit is a line with its format and one of JSON. */
  def watermarkMs: Long =
    commit.linesIterator.drop(1).nextOption().fold(0L) { json =>
      new ObjectMapper().readTree(json).path("nextBatchWatermarkMs").asLong(0)
    }
}
