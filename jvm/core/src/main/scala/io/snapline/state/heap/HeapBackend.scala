package io.snapline.state.heap

import java.io.File

import io.snapline.error.StateTooLarge
import io.snapline.state._
import io.snapline.state.rowtable.{Entry, Op}

/** The keyed backend on the JVM's heap: a map for every family (docs/notes/005-heap-backends.md).
  *
  * Owns `folder`, where the files of its last snapshots stay so that the next one need only hold what has changed.
  *
  * @param folder
  *   empty, or the files of a snapshot; deleted by `close`
  * @param restored
  *   whether `folder` holds a snapshot
  */
final class HeapBackend(folder: File, restored: Boolean, settings: HeapSettings, memory: HeapMemory)
    extends KeyedBackend {
  override def kind: String = HeapBackend.Kind

  private val account = new HeapAccount(memory)
  private val versions = new SnapshotVersions(() => account.releaseHeld())
  private val nested = if (settings.asyncSnapshots) null else new NestedStateMap(account)
  private val chain = new SnapshotChain(folder, settings)
  private[heap] val changelog = new ChangeLog(account, () => boundChanges())
  @volatile private var byName = Map.empty[String, HeapFamily]
  private var byId = Map.empty[Int, HeapFamily]
  private var nextId = 0
  private var toLoad = restored
  private var snapshots = 0
  private var indexFiles = 0
  private var closed = false

  private[heap] var gets = 0L
  private[heap] var puts = 0L

  override def changeCount: Long = puts

  // ---- families

  override def families: Seq[ColumnFamily] = byName.values.toSeq.sortBy(_.descriptor.id)

  override def family(name: String): ColumnFamily = byName.getOrElse(name, null)

  override def createFamily(name: String, keyGroups: Boolean, multi: Boolean, internal: Boolean): ColumnFamily =
    byName.getOrElse(name, add(FamilyDescriptor(nextId, name, keyGroups, multi, internal)))

  private def add(descriptor: FamilyDescriptor): HeapFamily = {
    val rows =
      if (nested == null) new CopyOnWriteStateMap(versions, account) else nested.namespace(descriptor.id)
    val family = new HeapFamily(this, descriptor, rows, account)
    byName += descriptor.name -> family
    byId += descriptor.id -> family
    nextId = math.max(nextId, descriptor.id + 1)
    family
  }

  override def removeFamily(name: String): Boolean = byName.get(name) match {
    case None => false
    case Some(family) =>
      puts += 1
      byName -= name
      byId -= family.descriptor.id
      family.close()
      if (nested != null) nested.forget(family.descriptor.id)
      // Its number may come again, and its rows must not.
      chain.breakOff()
      true
  }

  override def restoreFamilies(families: Seq[(FamilyDescriptor, Long)]): Unit = {
    val wanted = families.map(_._1).toSet
    byName.values.map(_.descriptor).filterNot(wanted).foreach(gone => removeFamily(gone.name))
    families.foreach { case (descriptor, _) => if (!byName.contains(descriptor.name)) add(descriptor): Unit }
    if (toLoad) {
      toLoad = false
      load(families)
    }
  }

  // ---- changes

  override def beginChanges(sink: ChangeSink): Unit = changelog.begin(sink)

  override def cutChanges(): Unit = {
    checkSizes()
    changelog.cut()
  }

  private def checkSizes(): Unit = if (settings.maxStateSize > 0) {
    byName.values.find(_.rows.dataBytes > settings.maxStateSize).foreach { family =>
      throw new StateTooLarge(
        s"State ${family.descriptor.name} holds ${family.rows.dataBytes} bytes in this partition; one in the driver's memory may hold ${settings.maxStateSize}.",
        "begin a new checkpoint with spark.snapline.execution.checkpointing.storage set to filesystem, spread the state over more partitions, or raise " +
          "spark.snapline.execution.checkpointing.storage.max-state-size together with the driver's memory."
      )
    }
  }

  /** Lists of changes that come to half of the state are not worth their memory: an image is as cheap. */
  private def boundChanges(): Unit =
    if (changed > dataBytes / 2 + HeapBackend.FewChanges) copyOnWriteMaps.foreach(_.changed.giveUp())

  private def copyOnWriteMaps: Iterable[CopyOnWriteStateMap] =
    byName.values.map(_.rows).collect { case map: CopyOnWriteStateMap => map }

  private def changed: Long = copyOnWriteMaps.map(_.changed.bytes).sum

  private def dataBytes: Long = byName.values.map(_.rows.dataBytes).sum

  override def replay(entries: Array[Byte], length: Int): Unit = {
    val entry = new Entry
    var at = 0
    while (at < length) {
      entry.readChecked(entries, at, length)
      // Entries of a family that was removed in this version are passed over.
      byId.get(entry.family).foreach { family =>
        entry.op match {
          case Op.Put =>
            family.applyPut(entries, entry.keyOffset, entry.keyLength, entries, entry.valueOffset, entry.valueLength)
          case Op.Merge =>
            family.applyMerge(entries, entry.keyOffset, entry.keyLength, entries, entry.valueOffset, entry.valueLength)
          case Op.Delete => family.applyDelete(entries, entry.keyOffset, entry.keyLength): Unit
          case Op.DeleteRange =>
            val from = java.util.Arrays.copyOfRange(entries, entry.keyOffset, entry.valueOffset)
            val until = java.util.Arrays.copyOfRange(entries, entry.valueOffset, entry.end)
            family.applyDeleteRange(from, until)
          case _ => ()
        }
      }
      at = entry.end
    }
    boundChanges()
  }

  // ---- snapshots

  override def snapshot(): PendingSnapshot = {
    snapshots += 1
    val target = new File(folder.getParentFile, s"${folder.getName}-snapshot-$snapshots")
    if (nested != null) writtenNow(target) else taken(target)
  }

  /** Sync phase: every family's rows or changes are noted, and the version ends. */
  private def taken(target: File): HeapSnapshot = {
    val image = chain.wantsImage(dataBytes, changed) || copyOnWriteMaps.exists(!_.changed.whole)
    val bytes = if (image) dataBytes else changed
    val content =
      try
        byId.toSeq.map { case (id, family) =>
          val map = family.rows.asInstanceOf[CopyOnWriteStateMap]
          val changes = map.takeChanges()
          if (image) AllRows(id, map.image.foreach) else SomeRows(id, changes)
        }
      catch {
        // Changes that some families have handed over are in no snapshot: the next one has to have all rows.
        case e: Throwable =>
          chain.breakOff()
          throw e
      }
    val version = versions.take(image)
    val snapshot = new HeapSnapshot(image, content, chain, target, () => versions.release(version))
    chain.enqueue(snapshot, bytes)
    snapshot
  }

  /** Rows of nested maps are changed in place, so they are written before anything can change. A failure shows in the
    * async phase.
    */
  private def writtenNow(target: File): HeapSnapshot = {
    val content = byId.toSeq.map { case (id, family) => AllRows(id, family.rows.foreach) }
    val snapshot = new HeapSnapshot(isImage = true, content, chain, target, () => ())
    chain.enqueue(snapshot, dataBytes)
    chain.write()
    snapshot
  }

  /** Puts the chain's rows into the maps. They count as snapshotted. */
  private def load(families: Seq[(FamilyDescriptor, Long)]): Unit = {
    val files = chain.restore()
    copyOnWriteMaps.foreach(_.changed.giveUp())
    files.foreach { file =>
      RowsFile.read(file) { (bytes, entry) =>
        val family =
          byId.getOrElse(entry.family, throw RowsFile.damaged(file, s"it has rows of family ${entry.family}"))
        if (entry.op == Op.Delete) family.applyDelete(bytes, entry.keyOffset, entry.keyLength): Unit
        else family.applyPut(bytes, entry.keyOffset, entry.keyLength, bytes, entry.valueOffset, entry.valueLength)
      }
    }
    families.foreach { case (descriptor, keys) =>
      val found = byId(descriptor.id).keyCount
      if (found != keys) {
        throw RowsFile.damaged(folder, s"state ${descriptor.name} has $found keys and the handle names $keys")
      }
    }
    copyOnWriteMaps.foreach(_.takeChanges())
    versions.release(versions.take(image = false))
    chain.restored(dataBytes)
  }

  // ---- housekeeping

  private[heap] def newIndexFile(): File = {
    indexFiles += 1
    new File(folder.getParentFile, s"${folder.getName}-times-$indexFiles")
  }

  override def trim(): Unit = ()

  override def metrics: BackendMetrics =
    BackendMetrics(
      gets,
      gets,
      puts,
      tableBytes = account.bytes,
      storeBytes = chain.storedBytes,
      indexBytes = byName.values.map(_.indexBytes).sum
    )

  override def close(): Unit = if (!closed) {
    closed = true
    byName.values.foreach(_.dropTimeIndex())
    chain.close()
    account.close()
    byName = Map.empty
    LocalFolder.delete(folder)
  }
}

object HeapBackend {
  val Kind = "hashmap"

  /** Bytes of changes that are kept whatever the size of the state. */
  private val FewChanges = 1L << 20
}
