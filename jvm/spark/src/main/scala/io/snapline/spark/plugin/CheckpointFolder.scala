package io.snapline.spark.plugin

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{Callable, ExecutionException, Executors, ExecutorService}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.snapline.checkpoint._
import io.snapline.error.{SnaplineException, StateNotFound, StorageFailure}
import io.snapline.snapshot.SnapshotCheck
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage}

/** The checkpoint folder of one query, as its driver uses it. Owns a few threads for what many stores need at once; any thread may call. */
private[spark] final class CheckpointFolder(val root: Path, configuration: Configuration) extends AutoCloseable {
  private val storage = new HadoopCheckpointStorage(root, configuration)
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

  /** The entry of a batch in `offsets` or `commits`; None if it is not there. */
  def logEntry(log: String, batch: Long): Option[String] =
    try Some(text(s"$log/$batch"))
    catch { case _: StateNotFound => None }

  /** Checkpoints whose metadata is whole, oldest first. What is not whole never existed. */
  def completed(): Seq[CheckpointMetadata] = {
    val folder = new Path(root, CheckpointFolder.Own)
    val names =
      try fileSystem.listStatus(folder).toSeq.filter(_.isDirectory).map(_.getPath.getName)
      catch { case _: FileNotFoundException => Nil }
    names.collect { case CheckpointFolder.Numbered(id) => id.toLong }.sorted.flatMap { id =>
      try Some(CheckpointMetadata.read(storage, metadataName(id)))
      catch { case _: SnaplineException => None }
    }
  }

  /** Reads every handle back before the metadata names it. Throws what is wrong with one. */
  def verify(handles: Map[StoreId, StateHandle]): Unit = inParallel(handles.toSeq) { case (store, handle) =>
    new SnapshotCheck(stateOf(store)).check(handle.ref): Unit
  }

  /** The checkpoint exists when this returns. */
  def write(metadata: CheckpointMetadata): Long = CheckpointMetadata.write(storage, metadataName(metadata.id), metadata)

  /** Metadata first: a checkpoint some of whose files are gone must not look whole. Files that are gone already are no error. */
  def deleteMetadata(id: Long): Unit = {
    storage.delete(metadataName(id)): Unit
    fileSystem.delete(new Path(root, s"${CheckpointFolder.Own}/chk-$id"), false): Unit
  }

  /** @param names relative to the store's folder */
  def delete(store: StoreId, names: Seq[String]): Unit = {
    val folder = stateOf(store)
    inParallel(names)(name => folder.delete(name): Unit)
  }

  def metadataPath(id: Long): String = new Path(root, metadataName(id)).toString

  override def close(): Unit = threads.shutdown()

  private def stateOf(store: StoreId): CheckpointStorage =
    new HadoopCheckpointStorage(new Path(root, CheckpointFolder.stateFolder(store)), configuration)

  private def metadataName(id: Long): String = s"${CheckpointFolder.Own}/chk-$id/_metadata"

  private def text(name: String): String = {
    val path = new Path(root, name)
    try {
      val input = fileSystem.open(path)
      try new String(input.readAllBytes(), UTF_8)
      finally input.close()
    } catch {
      case e: FileNotFoundException => throw new StateNotFound(s"$path does not exist.", "check the checkpoint's path.", e)
      case e: IOException => throw new StorageFailure(s"Could not read $path: $e.", "see to the checkpoint's file system.", e)
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
  private val Numbered = """chk-(\d{1,18})""".r

  /** As Spark lays it out: the store called `default` has no folder of its own. */
  def stateFolder(store: StoreId): String = {
    val partition = s"state/${store.operator}/${store.partition}"
    if (store.store == "default") partition else s"$partition/${store.store}"
  }
}
