package io.snapline.snapshot.store

import scala.annotation.tailrec
import scala.collection.mutable

import org.slf4j.LoggerFactory

import io.snapline.error.{CheckpointDamaged, SnaplineException, StateNotFound, StorageFailure}
import io.snapline.snapshot.format._
import io.snapline.storage.{CheckpointStorage, StoredInput}

/** @param name relative to the store's folder */
final case class CopiedFile(name: String, length: Long, crc32c: Int)

/** A version of a store that lies in another place now, too.
  *
  * @param families
  *   as of that version
  * @param files
  *   all that loading it takes
  */
final case class CopiedVersion(ref: VersionRef, families: Seq[FamilyState], origin: Origin, files: Seq[CopiedFile])

/** Copies what loading a version takes, and nothing else: a handle, its table files, the changelogs after it. A handle
  * out of a merged file becomes a file. Every byte is checked on the way. Owns neither storage; takes away what it has
  * written of a snapshot that will not do.
  *
  * Another attempt may be at work beside this one, or have ended well, and writes the same bytes under the same names.
  * So a file that is whole is nobody's: each attempt takes it as it is. One that fails or is killed leaves all there,
  * for the next one or for the other.
  *
  * @param isAgain
  *   an attempt before this one may have left files of the same names
  */
final class VersionCopy(from: CheckpointStorage, to: CheckpointStorage, isAgain: Boolean = false) {
  private val log = LoggerFactory.getLogger(classOf[VersionCopy])
  private val source = new StateFiles(from)
  private val target = new StateFiles(to)
  private val written = mutable.ArrayBuffer.empty[CopiedFile]

  /** Names under which nothing stood before. */
  private val made = mutable.Set.empty[String]

  /** The version that a load would take.
    *
    * @param uid
    *   None: the latest attempt that is sound
    */
  def run(version: Long, uid: Option[String]): CopiedVersion = {
    val folder = StoreFolder.list(from)
    val candidates = folder.candidates(version, uid)
    if (candidates.isEmpty) {
      folder.refuseForeign()
      throw new StateNotFound(
        s"Version $version${uid.fold("")(id => s" with id $id")} of the state in ${from.location} does not exist.",
        "check that the checkpoint is complete; `snapline checkpoints list` shows which versions load."
      )
    }
    firstSound(folder, candidates, None)
  }

  @tailrec private def firstSound(
      folder: StoreFolder,
      candidates: Seq[VersionRef],
      failure: Option[SnaplineException]
  ): CopiedVersion =
    if (candidates.isEmpty) throw failure.get
    else
      attempt(folder, candidates.head, Set.empty, None) match {
        case Right(copied) => copied
        case Left(e) => firstSound(folder, candidates.tail, failure.orElse(Some(e)))
      }

  /** As in a load, a damaged snapshot is passed over, and the changelogs down to the one below take its place. */
  @tailrec private def attempt(
      folder: StoreFolder,
      ref: VersionRef,
      aside: Set[VersionRef],
      failure: Option[SnaplineException]
  ): Either[SnaplineException, CopiedVersion] =
    trying(source.line(folder, ref, aside)) match {
      case Left(e) => Left(failure.getOrElse(e))
      case Right((line, base)) => trying(base.map(snapshot)) match {
          case Left(e) =>
            log.warn(
              s"The snapshot ${base.get} in ${from.location} is set aside, an older one is tried: ${e.getMessage}"
            )
            attempt(folder, ref, aside + base.get, failure.orElse(Some(e)))
          case Right(handle) => trying(line.reverse.map(each => changelog(each.ref))).map { changes =>
              val families = changes.lastOption.map(_.families).orElse(handle.map(_.families)).get
              val origin = changes.lastOption.map(_.origin).orElse(handle.map(_.origin)).get
              CopiedVersion(ref, families, origin, written.toSeq)
            }
        }
    }

  /** Left: what was read is no good, and what was made of it is gone. */
  private def trying[A](body: => A): Either[SnaplineException, A] =
    try Right(body)
    catch {
      case e @ (_: CheckpointDamaged | _: StateNotFound) =>
        takeAway()
        Left(e.asInstanceOf[SnaplineException])
    }

  private def takeAway(): Unit = {
    made.foreach(to.delete(_): Unit)
    made.clear()
    written.clear()
  }

  private def snapshot(ref: VersionRef): HandleMeta = {
    val meta = source.handleMeta(ref)
    meta.files.foreach { table =>
      val copied = copy(table.storedName)
      if (copied.length != table.length || copied.crc32c != table.crc32c) {
        throw Frame.damaged(from.path(table.storedName), "it has not the length and checksum that the handle names")
      }
    }
    copy(ref.handleName)
    target.handleMeta(ref)
  }

  private def changelog(ref: VersionRef): ChangelogMeta = {
    copy(ref.changelogName)
    target.changelog(ref)((_, _) => ())
  }

  private def copy(name: String): CopiedFile = {
    val input = from.open(name)
    try {
      val copied = (if (isAgain) standing(name, input) else None).getOrElse(write(name, input))
      written += copied
      copied
    } finally input.close()
  }

  private def write(name: String, input: StoredInput): CopiedFile =
    try {
      // A part of a file is of an attempt that died, or of one that is writing it: that one fails, if it is slower.
      val wasThere = isAgain && to.delete(name)
      val output = to.create(name)
      if (!wasThere) made += name
      CopiedFile(name, input.length, input.copyTo(output, _.release()))
    } catch {
      case e: StorageFailure =>
        made -= name
        standing(name, input).getOrElse(throw e)
    }

  /** The file of another attempt, if it is whole and the same. */
  private def standing(name: String, input: StoredInput): Option[CopiedFile] =
    try {
      val there = to.open(name)
      try {
        val crc = if (there.length == input.length) Some(there.readAll((_, _) => ())) else None
        crc.filter(_ == input.readAll((_, _) => ())).map(CopiedFile(name, input.length, _))
      } finally there.close()
    } catch { case _: StateNotFound => None }
}
