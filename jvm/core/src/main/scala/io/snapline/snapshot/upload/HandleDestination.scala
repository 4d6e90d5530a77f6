package io.snapline.snapshot.upload

import io.snapline.snapshot.format.HandleMeta
import io.snapline.snapshot.merged.{HandleMerger, StoredHandle}
import io.snapline.state.LocalSnapshot
import io.snapline.storage.{ArrayStorage, CheckpointStorage}

/** Where the handles of one store's snapshots go. */
trait HandleDestination {

  /** A snapshot of the version will come, until this is closed. */
  def expect(version: Long): AutoCloseable

  /** @param done
    *   called once, now or later, from any thread: the handle is durable, or is not there
    */
  private[snapshot] def put(meta: HandleMeta, local: LocalSnapshot)(done: Either[Exception, StoredHandle] => Unit): Unit
}

/** A file of its own for each, in the store's folder, written by whoever brings it. */
private[snapshot] final class OwnFile(storage: CheckpointStorage) extends HandleDestination {
  override def expect(version: Long): AutoCloseable = () => ()

  private[snapshot] override def put(
      meta: HandleMeta,
      local: LocalSnapshot
  )(done: Either[Exception, StoredHandle] => Unit): Unit =
    done(
      try Right(StoredHandle(meta, SnapshotUpload.writeHandle(storage, meta, local)))
      catch { case e: Exception => Left(e) }
    )
}

/** A merged file, together with those of other stores of the executor. One for which there is no room gets a file of
  * its own.
  *
  * @param shared
  *   the executor's; asked for when there is a snapshot
  * @param store
  *   the store's folder, relative to the checkpoint
  * @param makeFolder
  *   makes that folder
  */
final class MergedDestination(
    shared: () => HandleMerger,
    store: String,
    storage: CheckpointStorage,
    makeFolder: () => Unit
) extends HandleDestination {
  private val own = new OwnFile(storage)

  /** Spark's reader of state takes the folders that are there for all the partitions that there are. */
  private lazy val folderMade: Unit = makeFolder()

  override def expect(version: Long): AutoCloseable = shared().expect(version)

  private[snapshot] override def put(meta: HandleMeta, local: LocalSnapshot)(
      done: Either[Exception, StoredHandle] => Unit
  ): Unit = {
    val merger = shared()
    folderMade
    // Compressed, they are less.
    val raw = local.small.map(_.length()).sum + MergedDestination.MetaAllowance
    if (!merger.hasRoom(raw)) own.put(meta, local)(done)
    else {
      val memory = new ArrayStorage(storage.location)
      SnapshotUpload.writeHandle(memory, meta, local): Unit
      val bytes = memory.bytes(meta.ref.handleName)
      merger.add(store, meta.ref, bytes) { outcome =>
        done(outcome.map(place => StoredHandle(meta, bytes.length.toLong, Some(place))))
      }
    }
  }
}

private object MergedDestination {
  private val MetaAllowance = 1L << 16
}
