package io.snapline.snapshot.store

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.snapshot.format.{Origin, UidClock}
import io.snapline.snapshot.merged.{HandleMerger, MergedFiles, MergedStorage}
import io.snapline.snapshot.upload.{MergedDestination, NearFolder, SnapshotPool}
import io.snapline.state.heap.HeapMemory
import io.snapline.state.{KeyedBackend, LocalFolder}
import io.snapline.state.rowtable.PageMemory
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage, MemoryStorage}

/** A store in a temporary folder, and as many processes' views of it as a test needs. Owned by the test, which closes
  * it.
  *
  * @param faulty
  *   whether views see the faults of the storage's plan
  * @param merging
  *   whether handles of checkpoints go into merged files
  */
final class StoreFixture(
    val settings: StateSettings = StoreFixture.defaults,
    tableBytes: Long = 64L << 20,
    storageOf: CheckpointStorage => CheckpointStorage = identity,
    pool: SnapshotPool = StoreFixture.pool,
    backend: TestBackend = TestBackend.RocksDb,
    where: TestStorage = TestStorage.OnDisk,
    faulty: Boolean = false,
    merging: Boolean = false,
    nearOf: CheckpointStorage => CheckpointStorage = identity
) extends AutoCloseable {
  private val root = Files.createTempDirectory(StoreFixture.fastDisk.toPath, "snapline-test").toFile
  private val number = new AtomicInteger
  private val pages = new PageMemory(tableBytes)
  private val heap = new HeapMemory(limit = 0)
  private var opened = Seq.empty[VersionedState]
  val folder = new File(root, "state/0/0")
  val plainStorage: CheckpointStorage = where.plain(folder)
  private val own = storageOf(if (faulty) where.faulty(folder) else plainStorage)
  private lazy val merged = new MemoryStorage
  private lazy val merger = new HandleMerger(merged, 1 << 20, "test", lingerMs = 1)
  val storage: CheckpointStorage =
    if (merging) new MergedStorage(own, StoreFixture.Store, new MergedFiles(merged), () => true) else own

  /** What storage holds. */
  val stored: StoredFiles = where.files(folder)

  val factory: BackendFactory = new BackendFactory {
    override def kind: String = backend.kind
    override def newFolder(): File = new File(root, s"local/db-${number.incrementAndGet()}")
    override def open(folder: File, restored: Boolean): KeyedBackend =
      backend.open(folder, restored, pages, heap, settings.inlineThreshold)
  }

  /** Another process's view of the same store, or one more in the same process. */
  def open(over: StateSettings = settings, clock: UidClock = new UidClock): VersionedState = {
    val folder = nearFolder(opened.size)
    val near = NearFolder(folder, nearOf(new HadoopCheckpointStorage(new Path(folder.toURI), new Configuration)))
    val state = new VersionedState(
      StoreContext(storage, over, StoreFixture.origin, Some(near), clock),
      factory,
      pool,
      _ => (),
      merged = Option.when(merging)(new MergedDestination(() => merger, StoreFixture.Store, own, () => ()))
    )
    opened :+= state
    state
  }

  /** Where the n-th view keeps changelogs that storage need not have. */
  def nearFolder(view: Int): File = new File(root, s"near-$view")

  def memoryUsed: Long = pages.used + heap.used

  /** Local folders that nobody has deleted. */
  def localFolders: Seq[String] = Option(new File(root, "local").list()).toSeq.flatten

  def fileNames: Seq[String] = Option(folder.list()).toSeq.flatten.sorted

  def closeStores(): Unit = opened.foreach(_.close())

  override def close(): Unit = {
    closeStores()
    where.remove(folder)
    LocalFolder.delete(root)
  }
}

object StoreFixture {
  val pool = new SnapshotPool(2)
  val defaults: StateSettings = StateSettings(policy = SnapshotPolicy(minChangelogs = 3))
  private val Store = "state/0/0"
  val origin: Origin = Origin("test", "run", Map.empty)

  /** RocksDB syncs every file it writes; what tests write need not outlive the machine. */
  private val fastDisk: File = Seq(new File("/dev/shm"))
    .find(folder => folder.isDirectory && folder.canWrite && folder.getUsableSpace > (1L << 30))
    .getOrElse(new File(System.getProperty("java.io.tmpdir")))
}
