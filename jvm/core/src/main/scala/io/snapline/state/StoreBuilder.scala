package io.snapline.state

/** Makes the files of a store of rows that nobody has changed since: no version, no changelog, no row table.
  *
  * Rows come in runs, each of one family and with ascending keys (unsigned order); no key comes twice. Owns its folder
  * until `close`. One thread.
  */
trait StoreBuilder extends AutoCloseable {

  /** As in the handle's meta. */
  def kind: String

  /** Begins a run; the one before is over. The family is in the store from here on, with or without rows. */
  def begin(family: FamilyDescriptor): Unit

  def put(key: Array[Byte], value: Array[Byte]): Unit

  /** The files of all runs; good until `close`. Nothing may be put any more. */
  def finish(): LocalSnapshot

  /** Deletes its files, handed out or not. */
  override def close(): Unit
}
