package io.snapline.snapshot.merged

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.slf4j.LoggerFactory

import io.snapline.error.{CheckpointDamaged, NotACheckpoint, StateNotFound, StorageFailure}
import io.snapline.snapshot.format.{Frame, FrameReader, HandleMeta, StateFiles, VersionRef}
import io.snapline.storage.{ArrayStorage, CheckpointStorage, StoredInput}

/** The merged files of a query. Reads only; keeps the indexes it has read, for the files never change. Any thread.
  *
  * @param storage
  *   the folder `snapline/merged` of the query
  */
final class MergedFiles(val storage: CheckpointStorage) {
  private val log = LoggerFactory.getLogger(classOf[MergedFiles])
  private val indexes = new ConcurrentHashMap[VersionRef, MergedFile]

  /** The files that exist, complete or not. */
  def list(): Seq[VersionRef] =
    storage.list("").flatMap(file => VersionRef.parse(file.name)).collect { case (ref, VersionRef.Merged) => ref }

  /** The files of a version. An incomplete file holds nothing: it was never written to its end. */
  def of(version: Long): Seq[MergedFile] = {
    val there = list()
    // A file that is gone is not read again.
    indexes.keySet.asScala.toSeq.diff(there).foreach(indexes.remove)
    there.filter(_.version == version).flatMap { ref =>
      try Some(index(ref))
      catch {
        case _: StateNotFound => None
        case e @ (_: CheckpointDamaged | _: NotACheckpoint) =>
          log.warn(s"A merged file is passed over: ${e.getMessage}")
          None
      }
    }
  }

  private def index(ref: VersionRef): MergedFile = Option(indexes.get(ref)).getOrElse {
    val reader = new FrameReader(storage, ref.mergedName, Frame.MergedMagic, MergedFiles.IndexAtOnce)
    val file =
      try parse(reader, ref)
      finally reader.close()
    indexes.put(ref, file)
    file
  }

  private def parse(reader: FrameReader, ref: VersionRef): MergedFile = {
    val file = MergedFile.read(reader.meta, path(ref), reader.length - Frame.TrailerBytes - reader.meta.length)
    if (file.ref != ref) throw Frame.damaged(path(ref), s"it holds version ${file.ref}")
    file
  }

  private def path(ref: VersionRef): String = storage.path(ref.mergedName)

  /** Reads a whole file, every byte checked, and each member as the handle it is.
    *
    * @return
    *   members and their handles
    */
  def read(ref: VersionRef): Seq[(MergedMember, HandleMeta)] = readBytes(ref).map { case (member, bytes) =>
    val folder = s"${path(ref)} (${member.store})"
    (member, new StateFiles(new ArrayStorage(folder, Map(member.ref.handleName -> bytes))).handleMeta(member.ref))
  }

  /** Members and their bytes. */
  def readBytes(ref: VersionRef): Seq[(MergedMember, Array[Byte])] = {
    val reader = new FrameReader(storage, ref.mergedName, Frame.MergedMagic)
    try {
      val members = parse(reader, ref).members.iterator
      val found = Seq.newBuilder[(MergedMember, Array[Byte])]
      reader.foreachBlock { (bytes, length) =>
        if (!members.hasNext) throw Frame.damaged(path(ref), "it has too many blocks")
        val member = members.next()
        if (member.length != length) {
          throw Frame.damaged(path(ref), s"its block at ${member.offset} is no member")
        }
        found += member -> java.util.Arrays.copyOf(bytes, length)
      }
      found.result()
    } finally reader.close()
  }

  /** A member as a file of its own. The reader checks what it finds there. */
  def open(member: MergedMember, place: MergedPlace): StoredInput = {
    val name = place.fileOf(member.ref).mergedName
    val whole = storage.open(name)
    if (place.offset + member.length > whole.length) {
      whole.close()
      throw Frame.damaged(
        storage.path(name),
        s"it has ${whole.length} bytes, and the handle ${member.ref} of ${member.store} is to lie behind them"
      )
    }
    new StoredInput {
      override def length: Long = member.length.toLong
      override def readFully(position: Long, target: Array[Byte], offset: Int, count: Int): Unit = {
        if (position + count > length) throw new StorageFailure(s"$name was read beyond a member.", "report this.")
        whole.readFully(place.offset + position, target, offset, count)
      }
      override def close(): Unit = whole.close()
    }
  }
}

private object MergedFiles {

  /** A file of at most so many bytes is read at once. Header, index and trailer of a larger one are read alone. */
  private val IndexAtOnce = 1L << 16
}
