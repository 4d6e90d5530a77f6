package io.snapline.snapshot.format

import scala.collection.mutable

import io.snapline.error.NotACheckpoint
import io.snapline.storage.{CheckpointStorage, StoredFile}

/** The content of a store's folder when it was listed. */
private[snapshot] final class StoreFolder(val storage: CheckpointStorage, files: Seq[StoredFile]) {
  private val parsed = files.flatMap(file => VersionRef.parse(file.name).map { case (ref, kind) => (ref, kind, file) })

  val changelogs: Map[VersionRef, StoredFile] = parsed.collect { case (ref, VersionRef.Changelog, file) =>
    ref -> file
  }.toMap
  val handles: Map[VersionRef, StoredFile] = parsed.collect { case (ref, VersionRef.Handle, file) => ref -> file }.toMap

  private val looked = mutable.Map.empty[String, Set[VersionRef]]

  /** Every state seen so far: those with files of their own, and those that were looked for in merged files. */
  def refs: Set[VersionRef] = changelogs.keySet ++ handles.keySet ++ looked.values.flatten

  /** The states of a version, the latest attempt first.
    *
    * @param uid
    *   None: of any attempt
    */
  def candidates(version: Long, uid: Option[String] = None): Seq[VersionRef] = {
    val own = (changelogs.keySet ++ handles.keySet).filter(ref => ref.version == version && uid.forall(_ == ref.uid))
    val name = uid.fold(s"${version}_")(VersionRef(version, _).handleName)
    (own ++ merged(name, missing = own.isEmpty)).toSeq.sortBy(_.uid).reverse
  }

  def hasHandle(ref: VersionRef): Boolean = handles.contains(ref) || isMerged(ref)

  /** Whether a load begins with its handle. Merged files are looked into last. */
  def isBase(ref: VersionRef): Boolean = handles.contains(ref) || !changelogs.contains(ref) && isMerged(ref)

  /** Whether the handle lies in a merged file, the folder having none of it. */
  def isMerged(ref: VersionRef): Boolean = merged(ref.handleName, missing = true)(ref)

  private def merged(prefix: String, missing: Boolean): Set[VersionRef] = looked.getOrElseUpdate(
    prefix,
    storage.packed(prefix, missing).flatMap(VersionRef.parse).collect { case (ref, VersionRef.Handle) => ref }.toSet
  )

  /** Refuses a folder in which another provider keeps its state. */
  def refuseForeign(): Unit = files.map(_.name).find(StoreFolder.foreign).foreach { name =>
    throw new NotACheckpoint(
      s"${storage.location} holds $name, a file of Spark's own state store providers.",
      "keep using that provider for this checkpoint, or start the query with a new checkpoint folder."
    )
  }
}

private[snapshot] object StoreFolder {
  def list(storage: CheckpointStorage): StoreFolder = new StoreFolder(storage, storage.list(""))

  /** Names that Spark gives; its ids are UUIDs of version 4, so that its changelogs are not ours. */
  private def foreign(name: String): Boolean =
    name.matches("""\d+(_[0-9a-f-]{36})?\.(delta|snapshot|zip|changelog)""") && VersionRef.parse(name).isEmpty
}
