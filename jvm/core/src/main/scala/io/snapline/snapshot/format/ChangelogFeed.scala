package io.snapline.snapshot.format

import io.snapline.error.StateNotFound
import io.snapline.state.rowtable.{Entry, Op}
import io.snapline.storage.CheckpointStorage

/** One change of one key, as the store was asked for it. `value` is null for a delete.
  *
  * @param op
  *   an operation of [[Op]], never a void one
  */
final case class Change(version: Long, family: String, op: Int, key: Array[Byte], value: Array[Byte])

/** The changes of a run of versions, oldest first. Reads one changelog at a time. */
final class ChangelogFeed(storage: CheckpointStorage) {
  private val files = new StateFiles(storage)

  /** Changes that led from version `first - 1` to `last`.
    *
    * @param uid
    *   the attempt of `last`; None: the latest
    */
  def read(first: Long, last: Long, uid: Option[String]): Iterator[Change] =
    line(first, last, uid).iterator.flatMap(changes)

  private def line(first: Long, last: Long, uid: Option[String]): List[VersionRef] = {
    val folder = StoreFolder.list(storage)
    var line = List.empty[VersionRef]
    var at = folder.candidates(last).find(ref => uid.forall(_ == ref.uid) && folder.changelogs.contains(ref))
    while (at.exists(_.version >= first)) {
      line = at.get :: line
      at = files.changelogMeta(at.get).parent
    }
    if (!line.headOption.exists(_.version == first)) {
      throw new StateNotFound(
        s"The changelogs of versions $first to $last in ${storage.location} are not all there.",
        "read a later range: changelogs are removed with the versions they belong to (spark.sql.streaming.minBatchesToRetain)."
      )
    }
    line
  }

  private def changes(ref: VersionRef): Iterator[Change] = {
    val found = Vector.newBuilder[Change]
    val entry = new Entry
    var appends = false
    var names = Map.empty[Int, String]
    files.changelogMeta(ref).families.foreach(f => names += f.descriptor.id -> f.descriptor.name)
    files.changelog(ref) { (bytes, length) =>
      var at = 0
      while (at < length) {
        entry.readChecked(bytes, at, length)
        if (isMark(entry)) appends = true
        else {
          names.get(entry.family).foreach { name =>
            val op = if (appends) Op.Merge else asked(entry)
            val key = java.util.Arrays.copyOfRange(bytes, entry.keyOffset, entry.valueOffset)
            val value =
              if (op == Op.Delete) null else java.util.Arrays.copyOfRange(bytes, entry.valueOffset, entry.end)
            found += Change(ref.version, name, op, key, value)
          }
          appends = false
        }
        at = entry.end
      }
    }: Unit
    found.result().iterator
  }

  private def isMark(entry: Entry): Boolean = entry.op == Op.Void && entry.keyLength == 0 && entry.valueLength == 0

  /** The kind of a void entry before a later change of its version replaced it. A merge is never replaced. */
  private def asked(entry: Entry): Int =
    if (entry.op != Op.Void) entry.op else if (entry.valueLength == 0) Op.Delete else Op.Put
}
