package io.snapline.snapshot.format

import io.snapline.storage.CheckpointStorage

/** Whether a snapshot is in storage as a whole: the handle passes its checks and every table file it names is there
  * with its length. Reads no table file: their checksums are compared when they are loaded.
  */
final class SnapshotCheck(storage: CheckpointStorage) {

  /** Throws what is wrong. */
  def check(ref: VersionRef): HandleMeta = {
    val meta = new StateFiles(storage).handleMeta(ref)
    checkTables(meta)
    meta
  }

  /** Throws which table file of the handle is missing, or has another length. */
  def checkTables(meta: HandleMeta): Unit =
    if (meta.files.nonEmpty) {
      val lengths = storage.list(TableFile.Folder).map(file => file.name -> file.length).toMap
      meta.files.foreach { file =>
        val path = s"${storage.location}/${file.storedName}"
        lengths.get(file.storedName) match {
          case None => throw Frame.damaged(path, s"it is missing, and the handle ${meta.ref} names it")
          case Some(length) if length != file.length =>
            throw Frame.damaged(path, s"it has $length bytes; the handle ${meta.ref} names ${file.length}")
          case _ => ()
        }
      }
    }
}
