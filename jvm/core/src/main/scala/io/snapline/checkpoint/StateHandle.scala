package io.snapline.checkpoint

import io.snapline.snapshot.format.{TableFile, VersionRef}
import io.snapline.snapshot.merged.{MergedPlace, StoredHandle}
import io.snapline.snapshot.upload.SnapshotFigures

/** A table file in storage that several handles of one store may name. */
final case class SharedFile(uid: String, length: Long, crc32c: Int) {
  def storedName: String = s"${TableFile.Folder}/$uid.sst"
}

/** A store's proof of a durable snapshot, for the coordinator.
  *
  * @param ref
  *   names the handle file
  * @param fullBytes
  *   bytes of all files that the handle names, reused ones included
  * @param uploadedBytes
  *   bytes of the table files that this snapshot wrote itself
  * @param handleBytes
  *   bytes of the handle file
  * @param merged
  *   its place in a merged file; None: it is a file of its own in the store's folder
  * @param inFlightBytes
  *   bytes of its in-flight data
  */
final case class StateHandle(
    ref: VersionRef,
    files: Seq[SharedFile],
    fullBytes: Long,
    uploadedFiles: Int,
    uploadedBytes: Long,
    syncMs: Long,
    asyncMs: Long,
    handleBytes: Long,
    merged: Option[MergedPlace] = None,
    inFlightBytes: Long = 0
) {

  /** Bytes that this snapshot added to storage. */
  def incrementalBytes: Long = uploadedBytes + handleBytes

  /** For another checkpoint: nothing was made for it. */
  def again: StateHandle = copy(uploadedFiles = 0, uploadedBytes = 0, syncMs = 0, asyncMs = 0)

  /** The handle first, or the merged file it lies in: it goes before what it names. */
  def names(store: StoreId): Seq[NamedFile] = mergedFile.toSeq ++ owns(store)

  /** The files that belong to the store alone. Its next snapshot may build on them. */
  def owns(store: StoreId): Seq[StoreFile] =
    (if (merged.isEmpty) Seq(StoreFile(store, ref.handleName)) else Nil) ++
      files.map(file => StoreFile(store, file.storedName))

  /** Other stores of the same checkpoint have their handles in it too. */
  def mergedFile: Option[MergedHandles] = merged.map(place => MergedHandles(place.fileOf(ref)))
}

object StateHandle {

  def of(handle: StoredHandle, figures: SnapshotFigures): StateHandle = StateHandle(
    handle.meta.ref,
    handle.meta.files.map(file => SharedFile(file.uid, file.length, file.crc32c)),
    handle.meta.stateBytes + handle.bytes,
    handle.meta.uploadedFiles,
    handle.meta.uploadedBytes,
    figures.syncMs,
    figures.asyncMs,
    handle.bytes,
    handle.merged,
    figures.inFlightBytes
  )
}

/** One store of one partition of one stateful operator. A join has several stores; other operators have one, named
  * `default`.
  */
final case class StoreId(operator: Long, partition: Int, store: String) {

  /** Relative to the checkpoint. */
  def folder: String = s"state/$operator/$partition" + (if (store == StoreId.Default) "" else s"/$store")

  override def toString: String = s"$operator/$partition/$store"
}

object StoreId {
  private val Default = "default"
}

/** A file that checkpoints name. */
sealed trait NamedFile

/** A file of a store, by its name in the store's folder. */
final case class StoreFile(store: StoreId, name: String) extends NamedFile {
  override def toString: String = s"$store/$name"
}

/** A merged file, which has handles of many stores. */
final case class MergedHandles(ref: VersionRef) extends NamedFile {
  override def toString: String = ref.mergedName
}
