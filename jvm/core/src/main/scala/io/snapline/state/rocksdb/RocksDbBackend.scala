package io.snapline.state.rocksdb

import java.io.File
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import io.snapline.error.InternalError
import io.snapline.state._
import io.snapline.state.rowtable._
import io.snapline.state.timeindex.IndexMemory

/** The keyed backend on RocksDB: a row table above, RocksDB below, a queue of changes between them
  * (docs/notes/001-store.md).
  *
  * Owns `folder`, the RocksDB in it and the row table. RocksDB is opened when it is first needed: a small state may
  * never need it.
  *
  * @param folder
  *   empty, or the files of a snapshot; deleted by `close`
  * @param restored
  *   whether `folder` holds a snapshot
  * @param keysMemory
  *   memory for filters of keys that are in RocksDB alone
  * @param prefixesMemory
  *   memory for lists of the keys of a prefix
  */
final class RocksDbBackend(
    folder: File,
    restored: Boolean,
    settings: RocksDbSettings,
    memory: RocksDbMemory,
    pageMemory: PageMemory,
    keysMemory: IndexMemory = IndexMemory.ofKeys,
    prefixesMemory: IndexMemory = IndexMemory.ofPrefixes
) extends KeyedBackend
    with PageOwner {
  override def kind: String = RocksDbBackend.Kind

  // Replaced by the thread that holds the backend, read by whoever drains.
  @volatile private var byName = Map.empty[String, RocksDbFamily]
  @volatile private var byId = Map.empty[Int, RocksDbFamily]
  private var nextId = 0
  private val queue = new ChangeQueue(new ChangeWriter(byId.getOrElse(_, null), open.write(_)).apply)
  private[rocksdb] val table = new RowTable(pageMemory, this)
  private val cursors = mutable.HashSet.empty[RocksDbCursor]
  @volatile private var instance: RocksDbInstance = _
  private var sink: ChangeSink = _
  @volatile private var closed = false
  private val opening = new Object
  private val snapshotNumber = new AtomicInteger
  private val indexFiles = new AtomicInteger
  @volatile private var flushNanos = 0L

  private[rocksdb] var gets = 0L
  private[rocksdb] var hits = 0L
  private[rocksdb] var puts = 0L
  private[rocksdb] var scans = 0L

  override def changeCount: Long = puts

  // ---- families

  override def families: Seq[ColumnFamily] = byName.values.toSeq.sortBy(_.descriptor.id)

  override def family(name: String): ColumnFamily = byName.getOrElse(name, null)

  override def createFamily(name: String, keyGroups: Boolean, multi: Boolean, internal: Boolean): ColumnFamily =
    byName.getOrElse(name, add(FamilyDescriptor(nextId, name, keyGroups, multi, internal)))

  override def removeFamily(name: String): Boolean = byName.get(name) match {
    case None => false
    case Some(family) =>
      family.end()
      drain()
      table.forget(family.descriptor.id, (_, _, _) => true)
      puts += 1
      queue.exclusively {
        byName -= name
        byId -= family.descriptor.id
        // A restored folder may hold rows of it though nothing has opened it yet.
        if (instance != null || restored) open.dropFamily(name)
      }
      true
  }

  override def restoreFamilies(families: Seq[(FamilyDescriptor, Long)]): Unit = {
    val wanted = families.map(_._1.name).toSet
    byName.keys.toSeq.filterNot(wanted).foreach(removeFamily)
    families.foreach { case (descriptor, keys) =>
      if (byName.get(descriptor.name).exists(_.descriptor != descriptor)) removeFamily(descriptor.name): Unit
      val family = byName.getOrElse(
        descriptor.name, {
          // Entries of a removed family that had this number must not pass for the new one's.
          drain()
          table.forget(descriptor.id, (_, _, _) => true)
          add(descriptor)
        }
      )
      family.keyCount = keys
      family.restored()
    }
  }

  private def add(descriptor: FamilyDescriptor): RocksDbFamily = {
    val family = new RocksDbFamily(this, descriptor, restored, keysMemory, prefixesMemory)
    byName += descriptor.name -> family
    byId += descriptor.id -> family
    nextId = math.max(nextId, descriptor.id + 1)
    family
  }

  // ---- changes

  override def beginChanges(to: ChangeSink): Unit = {
    sink = to
    table.eachChange = to.eachChange
    byName.values.foreach(_.batchBegins())
  }

  override def cutChanges(): Unit = {
    if (table.current != null) writeOut(table.current)
    sink = null
  }

  /** A log page is full: nothing is appended any more. */
  override def closed(page: Page): Unit = {
    writeOut(page)
    queue.add(page)
  }

  override def apply(page: Page): Unit = queue.drain(page)

  override def leavesNoMark(family: Int): Boolean = byId.get(family).exists(_.leavesNoMark())

  override def lost(family: Int, hash: Int): Unit = byId.get(family).foreach(_.lostAbove(hash))

  private def writeOut(page: Page): Unit = if (page.used > page.writtenTo) {
    if (sink == null) throw new InternalError("Changes were made outside of a version.")
    sink.write(page.bytes, page.writtenTo, page.used - page.writtenTo, page.unwrittenCount)
    page.writtenTo = page.used
    page.unwrittenCount = 0
  }

  override def replay(entries: Array[Byte], length: Int): Unit = {
    // A state that has made versions itself may be caught up: its own changes come before these.
    if (table.current != null) queue.add(table.current)
    byName.values.foreach(_.restored())
    val entry = new Entry
    var from = 0
    var at = 0
    while (at < length) {
      entry.readChecked(entries, at, length)
      if (at > from && entry.end - from > Page.Size) {
        adopt(entries, from, at)
        from = at
      }
      at = entry.end
    }
    if (at > from) adopt(entries, from, at)
  }

  private def adopt(entries: Array[Byte], from: Int, until: Int): Unit = {
    val run = if (from == 0) entries else java.util.Arrays.copyOfRange(entries, from, until)
    var ranges = false
    table.adopt(
      run,
      until - from,
      entry =>
        if (entry.op == Op.DeleteRange) {
          ranges = true
          val page = table.adopted.bytes
          val first = java.util.Arrays.copyOfRange(page, entry.keyOffset, entry.valueOffset)
          val after = java.util.Arrays.copyOfRange(page, entry.valueOffset, entry.end)
          table.forget(entry.family, Ranges.within(_, _, _, first, after))
        }
    )
    // Keys of the range are no longer found above, so what is below must know of the deletion.
    if (ranges) queue.drain()
  }

  /** Puts every change so far into RocksDB. */
  private[rocksdb] def drain(): Unit = {
    if (table.current != null) queue.add(table.current)
    queue.drain()
  }

  /** The open RocksDB; opens it the first time. */
  private[rocksdb] def open: RocksDbInstance = {
    val opened = instance
    if (opened != null) opened
    else
      opening.synchronized {
        if (closed) throw new InternalError("A closed backend is used.")
        if (instance == null) {
          folder.mkdirs()
          val fresh = new RocksDbInstance(folder, settings, memory)
          fresh.families.filterNot(name => name == "default" || byName.contains(name)).foreach(fresh.dropFamily)
          instance = fresh
        }
        instance
      }
  }

  // ---- reads below the table

  private[rocksdb] def scan(family: RocksDbFamily, from: Array[Byte], until: Array[Byte]): RowCursor = {
    drain()
    if (!family.nativeHas || family.lowest.isNone) EmptyCursor
    else {
      val begin = family.lowest.from(from)
      val fromLowest = from == null || (begin ne from)
      val begun = puts
      // A row that was put since is not seen by the cursor.
      cursor(family, begin, until, first => if (fromLowest && puts == begun) family.lowest.learn(first, until))
    }
  }

  /** As `scan`, where RocksDB has all changes of the range. */
  private[rocksdb] def scanBelow(family: RocksDbFamily, from: Array[Byte], until: Array[Byte]): RowCursor = {
    checkSound()
    if (!family.nativeHas || family.lowest.isNone) EmptyCursor
    else cursor(family, family.lowest.from(from), until, _ => ())
  }

  private def cursor(
      family: RocksDbFamily,
      from: Array[Byte],
      until: Array[Byte],
      first: Array[Byte] => Unit
  ): RowCursor = {
    scans += 1
    val cursor = new RocksDbCursor(open, family.native, from, until, first, cursors.remove(_): Unit)
    cursors.add(cursor)
    cursor
  }

  private[rocksdb] def checkSound(): Unit = queue.checkSound()

  override def isSound: Boolean = queue.isSound && (instance == null || !instance.hasFailed)

  override def closeScans(): Unit = cursors.toSeq.foreach(_.close())

  // ---- snapshots

  override def snapshot(): PendingSnapshot = {
    if (table.current != null) queue.add(table.current)
    table.startInterval()
    val target = new File(folder.getParentFile, s"${folder.getName}-snapshot-${snapshotNumber.incrementAndGet()}")
    val pending = new RocksDbPendingSnapshot(target, this)
    queue.mark(pending)
    pending
  }

  /** Runs at the marker: everything before it is in RocksDB, nothing after it. */
  private[rocksdb] def hardLink(target: File): Unit = {
    val begun = System.nanoTime()
    byName.values.foreach(_.native)
    open.flushAll()
    val files = open.tableFiles
    open.limitRuns(files, byName.map { case (name, family) => name -> family.keyCount })
    if (settings.inlineThreshold > 0) open.compactShort(files, settings.inlineThreshold)
    open.hardLink(target)
    flushNanos = System.nanoTime() - begun
  }

  private[rocksdb] def drainUntil(done: () => Boolean): Unit = queue.drainWhile(() => !done())

  // ---- housekeeping

  private[rocksdb] def newIndexFile(): File =
    new File(folder.getParentFile, s"${folder.getName}-times-${indexFiles.incrementAndGet()}")

  override def trim(): Unit = table.trim()

  override def metrics: BackendMetrics = {
    val own = BackendMetrics(
      gets,
      hits,
      puts,
      table.usedBytes,
      drainNanos = queue.drainNanos,
      flushNanos = flushNanos,
      indexBytes = byName.values.map(_.indexBytes).sum
    )
    if (instance == null || closed) own else RocksDbMetrics.fill(own, instance)
  }

  override def close(): Unit = {
    byName.values.foreach(_.end())
    table.close()
    queue.exclusively {
      if (!closed) {
        closed = true
        queue.close()
        cursors.toSeq.foreach(_.close())
        if (instance != null) instance.close()
        instance = null
      }
    }
    LocalFolder.delete(folder)
  }
}

object RocksDbBackend {
  val Kind = "rocksdb"
}
