package io.snapline.spark.protocol

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.Action
import io.snapline.error.{CheckpointDamaged, NotACheckpoint, StateNotFound, StorageFailure, UriPassword}
import io.snapline.snapshot.format.{SnapshotCheck, VersionRef}
import io.snapline.snapshot.merged.{MergedFile, MergedFiles, MergedMember, SnapshotSearch, StoredHandle}
import io.snapline.snapshot.store.SnapshotSweep
import io.snapline.snapshot.upload.SnapshotPool
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage}

/** The checkpoint folder of one query, as its driver uses it. Any thread may call. */
private[spark] final class CheckpointFolder(val root: Path, configuration: Configuration) {
  private val own = new Path(root, CheckpointFolder.Own)

  /** The folder's URI for logs and errors, without a password. */
  val location: String = UriPassword.hide(root.toString)
  private val storage = new HadoopCheckpointStorage(own, configuration)
  private val merged = new MergedFiles(CheckpointFolder.mergedStorage(root, configuration))
  private lazy val fileSystem: FileSystem = root.getFileSystem(configuration)
  private val threads = new SnapshotPool(CheckpointFolder.Threads, "snapline-checkpoint-files")

  /** The id Spark gave the query; it is there before the first batch is planned. */
  def queryId: String = new ObjectMapper().readTree(text("metadata")).path("id").asText

  /** Both entries of a batch that is committed. */
  def entries(batch: Long): LogEntries = LogEntries(text(s"offsets/$batch"), text(s"commits/$batch"))

  def isCommitted(batch: Long): Boolean = fileSystem.exists(new Path(root, s"commits/$batch"))

  /** Greatest number of a checkpoint, whole or not; 0 if there is none. */
  def highestId: Long = ids.lastOption.getOrElse(0L)

  /** Checkpoints whose metadata is complete, oldest first, with the metadata's length in bytes. Skips incomplete
    * metadata. Any other read error is thrown, so that files of an unreadable checkpoint are never treated as orphans.
    */
  def completed(): Seq[(CheckpointMetadata, Long)] = ids.flatMap { id =>
    try Some(CheckpointMetadata.read(storage, id))
    catch { case _: CheckpointDamaged | _: NotACheckpoint | _: StateNotFound => None }
  }

  /** Where drivers say that the folder is theirs. */
  def claims: CheckpointStorage = new HadoopCheckpointStorage(new Path(own, CheckpointFolder.Claims), configuration)

  def read(checkpoint: Long): CheckpointMetadata = CheckpointMetadata.read(storage, checkpoint)._1

  private def ids: Seq[Long] = {
    val found =
      try fileSystem.listStatus(own).toSeq.filter(_.isDirectory)
      catch { case _: FileNotFoundException => Nil }
    found.flatMap(folder => CheckpointMetadata.number(folder.getPath.getName)).sorted
  }

  /** Whether this query has ever merged handles. */
  def hasMerged: Boolean = fileSystem.exists(new Path(own, MergedFile.Folder))

  /** Whether a batch of this query may have been cut: docs/notes/010-unaligned.md. */
  def mayHaveCuts: Boolean = fileSystem.exists(new Path(own, CheckpointFolder.UnalignedMark))

  /** The oldest batch in Spark's offset log; None: the log is empty. */
  def oldestPlanned: Option[Long] = byBatch(new Path(root, "offsets")).keys.minOption

  /** Removes what was noted of cuts in batches below this one.
    *
    * @param but
    *   batches whose notes stay
    */
  def purgeCuts(batch: Long, but: Set[Long] = Set.empty): Unit =
    byBatch(new Path(own, CheckpointFolder.Cuts)).foreach { case (number, path) =>
      if (number < batch && !but(number)) fileSystem.delete(path, true): Unit
    }

  private def byBatch(folder: Path): Map[Long, Path] = {
    val there =
      try fileSystem.listStatus(folder).toSeq.map(_.getPath)
      catch { case _: FileNotFoundException => Nil }
    there.flatMap(path => path.getName.toLongOption.map(_ -> path)).toMap
  }

  /** Reads every handle back before the metadata names it, and a merged file once. Throws what is wrong with one. */
  def verify(handles: Map[StoreId, StateHandle]): Unit = {
    inParallel(handles.toSeq.filter(_._2.merged.isEmpty)) { case (store, handle) =>
      new SnapshotCheck(stateOf(store)).check(handle.ref): Unit
    }
    inParallel(byMergedFile(handles)) { case (file, stores) =>
      val there = merged.read(file).toMap
      stores.foreach { case (store, handle) =>
        val meta = there.getOrElse(member(store, handle), throw notIn(file, store, handle))
        new SnapshotCheck(stateOf(store)).checkTables(meta)
      }
    }
  }

  /** Snapshots of a version that a run has made, by store. */
  def handlesOf(version: Long, run: String): StoreId => Seq[StoredHandle] = {
    val files = merged.of(version)
    store => new SnapshotSearch(stateOf(store), store.folder, merged, files).of(version, run)
  }

  /** Writes the handles of a checkpoint that lie in merged files into the stores' folders, before anything that counts
    * is built on them; and removes the merged files that nobody names, for who comes after need not know of any. May be
    * done again. (docs/notes/008-file-merging.md)
    *
    * @param inUse
    *   whether the coordinator counts on the file
    */
  def unmerge(checkpoint: CheckpointMetadata, inUse: NamedFile => Boolean): Unit = {
    inParallel(byMergedFile(checkpoint.handles)) { case (file, stores) =>
      val there = merged.readBytes(file).toMap
      stores.foreach { case (store, handle) =>
        copy(stateOf(store), handle.ref, there.getOrElse(member(store, handle), throw notIn(file, store, handle)))
      }
    }
    val left = merged.list().map(MergedHandles(_)).filterNot(inUse)
    if (left.nonEmpty) {
      val named = completed().flatMap(_._1.handles.values.flatMap(_.mergedFile)).toSet
      left.filterNot(named).foreach(remove)
    }
  }

  /** Nothing builds on the part of such a copy that a crash has left. */
  private def copy(to: CheckpointStorage, ref: VersionRef, bytes: Array[Byte]): Unit = {
    val isThere =
      try {
        new SnapshotCheck(to).check(ref)
        true
      } catch {
        case _: StateNotFound => false
        case _: CheckpointDamaged | _: NotACheckpoint =>
          to.delete(ref.handleName): Unit
          false
      }
    if (!isThere) {
      val output = to.create(ref.handleName)
      try {
        output.write(bytes)
        output.close()
      } catch { case e: Throwable => output.abandon(); throw e }
      new SnapshotCheck(to).check(ref): Unit
    }
  }

  private def byMergedFile(handles: Map[StoreId, StateHandle]): Seq[(VersionRef, Seq[(StoreId, StateHandle)])] =
    handles.toSeq.flatMap { case (store, handle) =>
      handle.merged.map(place => (place.fileOf(handle.ref), (store, handle)))
    }
      .groupMap(_._1)(_._2).toSeq

  private def member(store: StoreId, handle: StateHandle): MergedMember =
    MergedMember(store.folder, handle.ref, handle.merged.get.offset, handle.handleBytes.toInt)

  private def notIn(file: VersionRef, store: StoreId, handle: StateHandle): CheckpointDamaged = new CheckpointDamaged(
    s"${merged.storage.location}/${file.mergedName} does not have the handle ${handle.ref} of $store where it was written.",
    "restart the query from an older checkpoint; the next one is written anew."
  )

  /** The checkpoint exists when this returns. */
  def write(metadata: CheckpointMetadata): Long = metadata.write(storage)

  /** Metadata first, and nothing else if it cannot be removed: a checkpoint some of whose files are gone must not look
    * whole. Then handles, then what they named.
    */
  def delete(what: Action.Delete): Unit = {
    if (what.metadata) {
      storage.delete(CheckpointMetadata.name(what.checkpoint)): Unit
      removeFolder(what.checkpoint)
    }
    Seq(what.handles, what.tables).foreach(inParallel(_)(remove))
  }

  private def remove(file: NamedFile): Unit = file match {
    case StoreFile(store, name) => stateOf(store).delete(name): Unit
    case MergedHandles(ref) => merged.storage.delete(ref.mergedName): Unit
  }

  /** Removes what crashes and replays have left below these checkpoints.
    *
    * @param oldest
    *   version of the oldest one a recovery may take
    * @param inUse
    *   whether anybody names the file
    */
  def sweep(named: Seq[CompletedCheckpoint], oldest: Long, inUse: NamedFile => Boolean): Unit = {
    val stores = named.flatMap(_.handles.keys).distinct
    inParallel(stores) { store =>
      val refs = named.flatMap(_.handles.get(store).map(_.ref)).toSet
      new SnapshotSweep(stateOf(store)).run(oldest, refs, name => inUse(StoreFile(store, name))): Unit
    }
    merged.list().map(MergedHandles(_)).filter(file => file.ref.version < oldest && !inUse(file)).foreach(remove)
  }

  /** Only if nothing is left in it. */
  private def removeFolder(checkpoint: Long): Unit = {
    val folder = new Path(own, CheckpointMetadata.folder(checkpoint))
    try if (fileSystem.listStatus(folder).isEmpty) fileSystem.delete(folder, false): Unit
    catch { case _: FileNotFoundException => () }
  }

  def metadataPath(checkpoint: Long): String = new Path(own, CheckpointMetadata.name(checkpoint)).toString

  private def stateOf(store: StoreId): CheckpointStorage =
    new HadoopCheckpointStorage(new Path(root, store.folder), configuration)

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

  private def inParallel[A](items: Seq[A])(body: A => Unit): Unit = threads.runAll(items.map(item => () => body(item)))
}

private[spark] object CheckpointFolder {
  private val Threads = 4
  private[spark] val Own = "snapline"

  /** Claims of drivers, in `Own`. */
  private val Claims = "claims"

  /** Cut records of unaligned batches, in `Own`. */
  private val Cuts = "cuts"

  /** As the Python package names it: there from the first start with unaligned checkpoints on. */
  private[spark] val UnalignedMark = "unaligned"

  /** Cut records of the query whose checkpoint folder is `root`. */
  def cutStorage(root: Path, configuration: Configuration): CheckpointStorage =
    new HadoopCheckpointStorage(new Path(new Path(root, Own), Cuts), configuration)

  /** Merged files of the query whose checkpoint folder is `root`. */
  def mergedStorage(root: Path, configuration: Configuration): CheckpointStorage =
    new HadoopCheckpointStorage(new Path(new Path(root, Own), MergedFile.Folder), configuration)
}

/** The entries of one batch in Spark's two logs, as they stand there. */
private[spark] final case class LogEntries(offsets: String, commit: String) {

  /** The watermark of the batch after this one, in ms; 0 if there is none. A commit is a line with its format and one
    * of JSON.
    */
  def watermarkMs: Long =
    commit.linesIterator.drop(1).nextOption().fold(0L) { json =>
      new ObjectMapper().readTree(json).path("nextBatchWatermarkMs").asLong(0)
    }
}
