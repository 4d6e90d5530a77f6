package io.snapline.snapshot.merged

import scala.collection.concurrent.TrieMap

import io.snapline.error.StateNotFound
import io.snapline.snapshot.format.VersionRef
import io.snapline.storage.{CheckpointStorage, StoredFile, StoredInput, StoredOutput}

/** A store's folder, and with it those of its handles that lie in merged files of the query. Owns neither. Any thread.
  *
  * @param store
  *   the folder, relative to the checkpoint
  * @param look
  *   whether merged files may have what the folder has too, in a later attempt
  */
final class MergedStorage(folder: CheckpointStorage, store: String, merged: => MergedFiles, look: () => Boolean)
    extends CheckpointStorage {

  /** A place never changes. */
  private val known = TrieMap.empty[String, (MergedMember, MergedPlace)]

  /** Somebody knows where a handle is. */
  def learn(ref: VersionRef, place: MergedPlace, length: Long): Unit =
    known(ref.handleName) = (MergedMember(store, ref, place.offset, length.toInt), place)

  override def location: String = folder.location

  override def path(name: String): String = known.get(name).fold(folder.path(name)) { case (member, place) =>
    s"${merged.storage.path(place.fileOf(member.ref).mergedName)} ($store)"
  }

  override def create(name: String): StoredOutput = folder.create(name)

  override def list(of: String): Seq[StoredFile] = folder.list(of)

  override def delete(name: String): Boolean = folder.delete(name)

  /** Nothing is looked for that is known by its full name. */
  override def packed(prefix: String, missing: Boolean): Seq[String] =
    if (known.contains(prefix)) Seq(prefix)
    else {
      if (missing || look()) prefix.takeWhile(_ != '_').toLongOption.foreach(lookFor)
      known.keys.filter(_.startsWith(prefix)).toSeq
    }

  private def lookFor(version: Long): Unit =
    for (file <- merged.of(version); member <- file.members if member.store == store) {
      known(member.ref.handleName) = (member, file.place(member))
    }

  /** The folder's own copy where there is one is the same, byte for byte. */
  override def open(name: String): StoredInput = known.get(name) match {
    case Some((member, place)) =>
      try merged.open(member, place)
      catch {
        case _: StateNotFound =>
          known -= name
          folder.open(name)
      }
    case None =>
      try folder.open(name)
      catch {
        case e: StateNotFound =>
          VersionRef.parse(name) match {
            case Some((_, VersionRef.Handle)) if packed(name, missing = true).contains(name) => open(name)
            case _ => throw e
          }
      }
  }
}
