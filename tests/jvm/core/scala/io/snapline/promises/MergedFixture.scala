package io.snapline.promises

import java.io.File
import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.{CompletableFuture, TimeUnit}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.checkpoint._
import io.snapline.snapshot.merged.{HandleMerger, MergedFile, MergedFiles, MergedStorage, StoredHandle}
import io.snapline.snapshot.store.{StateSettings, StoreContext, StoreFixture, VersionedState}
import io.snapline.snapshot.upload.{MergedDestination, NearFolder, SnapshotFigures, SnapshotListener}
import io.snapline.storage.HadoopCheckpointStorage

/** The checkpoint under `resources/merged-fixtures`: two stores with one content, whose handles lie in a merged file
  * that `_metadata` names.
  *
  * Written once, like the others (`MergedFixture.main`), and never again.
  */
object MergedFixture {
  private val Checkpoint = 1L

  /** Some table files are longer, and lie in the stores' folders. */
  private val Inline = 1300
  private val Stores = Seq(StoreId(0, 0, "default"), StoreId(0, 1, "default"))

  def storage(root: File, folder: String): HadoopCheckpointStorage =
    new HadoopCheckpointStorage(new Path(new File(root, folder).toURI), new Configuration)

  private def merged(root: File): HadoopCheckpointStorage = storage(root, s"snapline/${MergedFile.Folder}")

  def metadata(root: File): CheckpointMetadata = CheckpointMetadata.read(storage(root, "snapline"), Checkpoint)._1

  /** A view of a store that knows of its handle what the metadata says. */
  def open(root: File, store: StoreId, handle: StateHandle, by: StoreFixture): VersionedState = {
    val from = new MergedStorage(storage(root, store.folder), store.folder, new MergedFiles(merged(root)), () => false)
    handle.merged.foreach(from.learn(handle.ref, _, handle.handleBytes))
    new VersionedState(StoreContext(from, by.settings, StoreFixture.origin), by.factory, StoreFixture.pool, _ => ())
  }

  private final class Made extends SnapshotListener {
    private val told = new CompletableFuture[StateHandle]
    override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit =
      told.complete(StateHandle.of(handle, figures)): Unit
    override def failed(reason: Exception): Unit = told.completeExceptionally(reason): Unit
    def await(): StateHandle = told.get(60, TimeUnit.SECONDS)
  }

  private def write(root: File, fixture: StoreFixture): Seq[String] = {
    val merger = new HandleMerger(merged(root), 1 << 20, "fixture")
    val stores = Stores.zipWithIndex.map { case (store, n) =>
      val (own, near) = (storage(root, store.folder), fixture.nearFolder(n))
      val state = new VersionedState(
        StoreContext(
          own,
          fixture.settings,
          StoreFixture.origin,
          near = Some(NearFolder(near, new HadoopCheckpointStorage(new Path(near.toURI), new Configuration)))
        ),
        fixture.factory,
        StoreFixture.pool,
        _ => (),
        merged = Some(new MergedDestination(() => merger, store.folder, own, () => own.makeFolder()))
      )
      val made = new Made
      (1L to FixtureContent.LastVersion).foreach { version =>
        state.load(version - 1, None, interval = true)
        FixtureContent.change(state, version)
        state.commit(checkpoint = if (version == FixtureContent.LastVersion) Some(made) else None): Unit
      }
      (store, state, made)
    }
    val acked = stores.map { case (store, _, made) => store -> Acked(made.await(), System.currentTimeMillis()) }.toMap
    val now = System.currentTimeMillis()
    val run = UUID.randomUUID().toString
    val batch = FixtureContent.LastVersion - 1
    val properties = RetentionPolicy.RetainOnCancellation.properties
    val pending = PendingCheckpoint(Checkpoint, run, batch, properties, Stores.toSet, now, acked = acked)
    val (offsets, commit) = ("v1\n{\"batchWatermarkMs\":0}\n{\"logOffset\":4}", "v1\n{\"nextBatchWatermarkMs\":0}")
    val writer = WriterVersions("fixture", "4.2.0")
    val metadata = CheckpointMetadata
      .of(UUID.randomUUID().toString, pending, Map(0L -> "stateStoreSave"), now, offsets, commit, 0, 57600, writer)
    metadata.write(storage(root, "snapline")): Unit
    val lines = FixtureContent.lines(stores.head._2)
    stores.foreach(_._2.close())
    lines
  }

  def main(arguments: Array[String]): Unit = {
    val target = new File(arguments.head)
    require(!target.exists(), s"$target exists: fixtures are never written again")
    val fixture = new StoreFixture(StateSettings(inlineThreshold = Inline))
    try {
      val lines = write(new File(target, "checkpoint"), fixture)
      Files.write(new File(target, "expected.txt").toPath, lines.mkString("", "\n", "\n").getBytes("UTF-8")): Unit
    } finally fixture.close()
  }
}
