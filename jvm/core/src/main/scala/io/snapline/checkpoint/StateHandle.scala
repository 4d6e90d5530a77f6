package io.snapline.checkpoint

import io.snapline.snapshot.format.{TableFile, VersionRef}
import io.snapline.snapshot.merged.{MergedPlace, StoredHandle}
import io.snapline.snapshot.upload.SnapshotFigures

/** A table file in storage that several handles of one store may name. */
final case class SharedFile(uid: String, length: Long, crc32c: Int) {
  def storedName: String = s"${TableFile.Folder}/$uid.sst"
}

/** What a store hands the coordinator as proof of a durable snapshot.
  *
  * @param ref
  *   names the handle file
  * @param fullBytes
  *   of everything the handle names, reused files included
  * @param uploadedBytes
  *   of the table files this snapshot wrote itself
  * @param handleBytes
  *   of the handle file
  * @param merged
  *   where it is; None: it is a file of its own in the store's folder
  * @param inFlightBytes
  *   of rows in it that had come and were not processed
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

  /** What is the store's alone, and its next snapshot may build on. */
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
