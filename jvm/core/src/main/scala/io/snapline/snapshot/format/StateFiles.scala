package io.snapline.snapshot.format

import io.snapline.error.StateNotFound
import io.snapline.storage.CheckpointStorage

/** Reads the framed files of a store. */
private[snapshot] final class StateFiles(storage: CheckpointStorage) {

  def changelogMeta(ref: VersionRef): ChangelogMeta =
    reading(ref.changelogName, Frame.ChangelogMagic)(changelogMeta(_, ref))

  private def changelogMeta(reader: FrameReader, ref: VersionRef): ChangelogMeta = {
    val meta = Meta.changelog(reader.meta, path(ref.changelogName))
    checkRef(meta.ref, ref, ref.changelogName)
    // A walk along parents must come to an end.
    if (meta.parent.exists(_.version >= ref.version)) {
      throw Frame.damaged(path(ref.changelogName), "its parent is not older than itself")
    }
    meta
  }

  /** Calls `each(bytes, length)` for every block, then returns the meta. */
  def changelog(ref: VersionRef)(each: (Array[Byte], Int) => Unit): ChangelogMeta =
    reading(ref.changelogName, Frame.ChangelogMagic) { reader =>
      val meta = changelogMeta(reader, ref)
      reader.foreachBlock(each)
      meta
    }

  def handleMeta(ref: VersionRef): HandleMeta = handle(ref)._1

  /** The handle and the bytes of its small files. */
  def handle(ref: VersionRef): (HandleMeta, Seq[(String, Array[Byte])]) =
    reading(ref.handleName, Frame.HandleMagic) { reader =>
      val meta = Meta.handle(reader.meta, path(ref.handleName))
      checkRef(meta.ref, ref, ref.handleName)
      val blocks = Seq.newBuilder[Array[Byte]]
      reader.foreachBlock((bytes, length) => blocks += java.util.Arrays.copyOf(bytes, length))
      val small = blocks.result()
      if (small.map(_.length) != meta.local.map(_._2)) {
        throw Frame.damaged(path(ref.handleName), "its blocks are not the files it names")
      }
      (meta, meta.local.map(_._1).zip(small))
    }

  /** The changelogs that lead to a version, newest first, and the snapshot below them; None is the empty store. */
  def walk(ref: VersionRef, isBase: VersionRef => Boolean): (Seq[ChangelogMeta], Option[VersionRef]) = {
    var line = Vector.empty[ChangelogMeta]
    var at: Option[VersionRef] = Some(ref)
    while (at.exists(!isBase(_))) {
      val meta = changelogMeta(at.get)
      line :+= meta
      at = meta.parent
    }
    (line, at)
  }

  /** The changelogs that lead to a version, and the nearest sound snapshot below them. Where a changelog on the way is
    * gone, a snapshot in a merged file is nearer: a newer checkpoint has subsumed the one that the changelogs lead to.
    *
    * @param aside
    *   snapshots that cannot be loaded
    */
  def line(folder: StoreFolder, ref: VersionRef, aside: Set[VersionRef]): (Seq[ChangelogMeta], Option[VersionRef]) =
    try walk(ref, at => !aside(at) && folder.isBase(at))
    catch { case _: StateNotFound => walk(ref, at => !aside(at) && folder.hasHandle(at)) }

  private def reading[A](name: String, magic: String)(body: FrameReader => A): A = {
    val reader = new FrameReader(storage, name, magic)
    try body(reader)
    finally reader.close()
  }

  private def path(name: String): String = storage.path(name)

  /** A file copied under another name is another file. */
  private def checkRef(found: VersionRef, wanted: VersionRef, name: String): Unit =
    if (found != wanted) throw Frame.damaged(path(name), s"it holds version $found")
}
