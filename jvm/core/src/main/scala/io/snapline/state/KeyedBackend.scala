package io.snapline.state

/** The store of one partition of one operator.
  *
  * Owned by one `VersionedState`, used by one thread at a time except where a method says otherwise. It knows neither
  * versions nor storage: it takes changes, hands them to a sink, and lets itself be snapshotted.
  */
trait KeyedBackend extends AutoCloseable {

  /** As in the handle's meta: `rocksdb`. */
  def kind: String

  /** In the order of their ids. */
  def families: Seq[ColumnFamily]

  /** Null when there is none of that name. */
  def family(name: String): ColumnFamily

  /** The family of that name, made if absent. Whether it is part of a version is decided by the commit. */
  def createFamily(name: String, keyGroups: Boolean, multi: Boolean, internal: Boolean): ColumnFamily

  /** Whether there was one. */
  def removeFamily(name: String): Boolean

  /** Grows with every change; a family made is none, a family removed is one. */
  def changeCount: Long

  /** From here on changes go to the sink, at the latest when `cutChanges` is called. */
  def beginChanges(sink: ChangeSink): Unit

  /** Hands the sink what it has not seen yet; the version is complete with that. */
  def cutChanges(): Unit

  /** Applies a run of entries of a changelog. Key counts are left to `restoreFamilies`. */
  def replay(entries: Array[Byte], length: Int): Unit

  /** Makes the families those of a version read from storage: creates and removes, sets key counts. */
  def restoreFamilies(families: Seq[(FamilyDescriptor, Long)]): Unit

  /** Sync phase: the state as of now is what `materialize` of the result gives, whatever is changed afterwards. Takes
    * microseconds.
    */
  def snapshot(): PendingSnapshot

  /** Whether it still holds what was put into it, as far as is known: not after a change that its local disk refused,
    * or a read that failed. Any thread.
    */
  def isSound: Boolean = true

  /** Closes cursors that nobody has read to their end. The caller's own use of the state has not begun. */
  def closeScans(): Unit = ()

  /** Any thread. */
  def metrics: BackendMetrics

  /** Gives memory back to the JVM's shared budget when it holds more than its share. */
  def trim(): Unit

  /** Closes native objects and deletes local files. Waits for a `materialize` that is running. */
  override def close(): Unit
}

/** Counters since the backend was opened, and sizes now. Bytes and counts; nanoseconds where the name says so.
  *
  * @param tableBytes
  *   memory of the row table
  * @param nativeBytes
  *   memory of RocksDB for this store (memtables, pinned blocks, readers)
  * @param indexBytes
  *   memory of the indexes of its families: of times, of prefixes, and of keys that are in RocksDB alone
  */
final case class BackendMetrics(
    gets: Long = 0,
    tableHits: Long = 0,
    puts: Long = 0,
    tableBytes: Long = 0,
    nativeBytes: Long = 0,
    nativeReads: Long = 0,
    blockCacheHits: Long = 0,
    blockCacheMisses: Long = 0,
    pinnedBytes: Long = 0,
    storeBytes: Long = 0,
    bytesRead: Long = 0,
    bytesWritten: Long = 0,
    iteratorBytesRead: Long = 0,
    compactionReadBytes: Long = 0,
    compactionWrittenBytes: Long = 0,
    flushWrittenBytes: Long = 0,
    stallNanos: Long = 0,
    compactionNanos: Long = 0,
    drainNanos: Long = 0,
    flushNanos: Long = 0,
    indexBytes: Long = 0
)

/** Takes the changes of a version while it is being made, in the changelog's encoding (docs/FORMAT.md section 3). */
trait ChangeSink {

  /** Whether it wants each change of a key: a change feed shows them all. Restoring the state takes the last one only.
    */
  def eachChange: Boolean = false

  /** A run of whole entries. The bytes are copied or written before the call returns. */
  def write(entries: Array[Byte], offset: Int, length: Int, count: Int): Unit
}
