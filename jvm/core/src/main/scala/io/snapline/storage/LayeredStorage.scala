package io.snapline.storage

import io.snapline.error.StateNotFound

/** A folder of the executor's own above the checkpoint's: what both have is read from the nearer one, and writing goes
  * there. Owns neither.
  */
final class LayeredStorage(near: CheckpointStorage, far: CheckpointStorage) extends CheckpointStorage {
  override def location: String = far.location

  override def path(name: String): String = far.path(name)

  override def create(name: String): StoredOutput = near.create(name)

  override def open(name: String): StoredInput =
    try near.open(name)
    catch { case _: StateNotFound => far.open(name) }

  override def list(folder: String): Seq[StoredFile] = {
    val above = near.list(folder)
    val names = above.map(_.name).toSet
    above ++ far.list(folder).filterNot(file => names(file.name))
  }

  override def packed(prefix: String, missing: Boolean): Seq[String] = far.packed(prefix, missing)

  override def delete(name: String): Boolean = near.delete(name)

  override def fallback: Option[CheckpointStorage] = Some(far)
}
