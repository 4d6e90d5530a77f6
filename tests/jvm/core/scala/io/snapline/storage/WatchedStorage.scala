package io.snapline.storage

/** Says the name of each file before it is created or opened: a test may wait there. Any thread. */
final class WatchedStorage(
    inner: CheckpointStorage,
    created: String => Unit = _ => (),
    opened: String => Unit = _ => ()
) extends CheckpointStorage {
  override def location: String = inner.location

  override def create(name: String): StoredOutput = {
    created(name)
    inner.create(name)
  }

  override def open(name: String): StoredInput = {
    opened(name)
    inner.open(name)
  }

  override def list(folder: String): Seq[StoredFile] = inner.list(folder)
  override def delete(name: String): Boolean = inner.delete(name)
}
