package io.snapline.snapshot

import io.snapline.error.NotACheckpoint
import io.snapline.storage.{CheckpointStorage, StoredFile}

/** What a store's folder held when it was listed. */
private[snapshot] final class StoreFolder(val storage: CheckpointStorage, files: Seq[StoredFile]) {
  private val parsed = files.flatMap(file => VersionRef.parse(file.name).map { case (ref, kind) => (ref, kind, file) })

  val changelogs: Map[VersionRef, StoredFile] = parsed.collect { case (ref, VersionRef.Changelog, file) =>
    ref -> file
  }.toMap
  val handles: Map[VersionRef, StoredFile] = parsed.collect { case (ref, VersionRef.Handle, file) => ref -> file }.toMap

  def refs: Set[VersionRef] = changelogs.keySet ++ handles.keySet

  /** The states of a version, the latest attempt first. */
  def candidates(version: Long): Seq[VersionRef] = refs.filter(_.version == version).toSeq.sortBy(_.uid).reverse

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
