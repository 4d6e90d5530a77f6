package io.snapline.snapshot.store

import java.util.zip.CRC32C

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.{HandleMeta, StateFiles, TableFile, VersionRef}
import io.snapline.storage.{CheckpointStorage, StoredFile}

/** Looks at a store's folder from outside: what its whole files name, and whether that is there. */
final class StoreAudit(storage: CheckpointStorage) {
  private val files = new StateFiles(storage)

  def refs: Seq[VersionRef] = listed.map(_._1).distinct

  private def listed: Seq[(VersionRef, String)] = storage.list("").flatMap(file => VersionRef.parse(file.name))

  /** Handles that pass their own checks. */
  def wholeHandles: Seq[HandleMeta] = listed.collect { case (ref, VersionRef.Handle) => ref }.flatMap { ref =>
    try Some(files.handleMeta(ref))
    catch { case _: SnaplineException => None }
  }

  /** What whole handles name and is not there byte for byte. */
  def broken: Seq[String] = {
    val tables: Map[String, StoredFile] = storage.list(TableFile.Folder).map(file => file.name -> file).toMap
    for {
      handle <- wholeHandles
      table <- handle.files
      complaint <- tables.get(table.storedName) match {
        case None => Some("is missing")
        case Some(file) if file.length != table.length => Some(s"has ${file.length} bytes, not ${table.length}")
        case Some(_) if crc(table) != table.crc32c => Some("has another checksum")
        case _ => None
      }
    } yield s"${table.storedName}, named by ${handle.ref}, $complaint"
  }

  /** Table files that no whole handle names. */
  def orphans: Seq[String] =
    storage.list(TableFile.Folder).map(_.name).diff(wholeHandles.flatMap(_.files).map(_.storedName).distinct)

  private def crc(table: TableFile): Int = {
    val input = storage.open(table.storedName)
    try {
      val bytes = new Array[Byte](input.length.toInt)
      input.readFully(0, bytes, 0, bytes.length)
      val crc = new CRC32C
      crc.update(bytes, 0, bytes.length)
      crc.getValue.toInt
    } finally input.close()
  }
}
