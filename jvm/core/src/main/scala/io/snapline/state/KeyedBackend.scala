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

  /** Any thread. */
  def metrics: BackendMetrics

  /** Gives memory back to the JVM's shared budget when it holds more than its share. */
  def trim(): Unit

  /** Closes native objects and deletes local files. Waits for a `materialize` that is running. */
  override def close(): Unit
}
