package io.snapline.checkpoint

import io.snapline.snapshot.{TableFile, VersionRef}

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
  */
final case class StateHandle(
    ref: VersionRef,
    files: Seq[SharedFile],
    fullBytes: Long,
    uploadedFiles: Int,
    uploadedBytes: Long,
    syncMs: Long,
    asyncMs: Long,
    handleBytes: Long
) {

  /** Bytes that this snapshot added to storage. */
  def incrementalBytes: Long = uploadedBytes + handleBytes

  /** The handle first: it goes before what it names. */
  def names(store: StoreId): Seq[StoreFile] =
    StoreFile(store, ref.handleName) +: files.map(file => StoreFile(store, file.storedName))
}
