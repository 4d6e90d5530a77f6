package io.snapline.snapshot.store

import java.io.{File, FileOutputStream, IOException}
import java.nio.file.Files

import scala.annotation.tailrec

import org.slf4j.LoggerFactory

import io.snapline.error._
import io.snapline.snapshot.format._
import io.snapline.state.{KeyedBackend, LocalFolder}
import io.snapline.storage.CheckpointStorage

/** A state that was brought back.
  *
  * @param seen
  *   every state the folder holds
  * @param tables
  *   table files in storage by the backend's names
  * @param distance
  *   changelogs since the snapshot, and their bytes in storage
  */
private[snapline] final case class Restored(
    ref: VersionRef,
    backend: KeyedBackend,
    seen: Set[VersionRef],
    snapshot: Option[HandleMeta],
    tables: Map[String, TableFile],
    distance: Int,
    changelogBytes: Long
)

/** Brings a version back from storage (docs/FORMAT.md section 6). Reads only.
  *
  * @param mayBeUnfinished
  *   states whose files need not have been in storage when their batch ended. One that has none with an end is missing
  *   like one that has none: its executor is gone, or writes it still.
  */
private[snapline] final class StateRestore(
    storage: CheckpointStorage,
    factory: BackendFactory,
    check: Origin => Unit,
    mayBeUnfinished: VersionRef => Boolean = _ => false
) {
  private val log = LoggerFactory.getLogger(classOf[StateRestore])
  private val files = new StateFiles(storage)

  /** @param uid None: any attempt of that version, the latest first */
  def restore(version: Long, uid: Option[String]): Restored = {
    val folder = StoreFolder.list(storage)
    val candidates = folder.candidates(version, uid)
    if (candidates.isEmpty) {
      folder.refuseForeign()
      val newest = folder.refs.map(_.version).maxOption.fold("there is none at all")(v => s"the newest there is $v")
      throw new StateNotFound(
        s"Version $version${uid.fold("")(id => s" with id $id")} of the state in ${storage.location} does not exist; $newest.",
        "check that the checkpoint is complete; `snapline checkpoints list` shows which versions load."
      )
    }
    var failures = Seq.empty[SnaplineException]
    candidates.iterator.map { ref =>
      try Some(restore(folder, ref))
      catch {
        case e @ (_: CheckpointDamaged | _: StateNotFound) =>
          val failure = e.asInstanceOf[SnaplineException]
          log.warn(s"Version $ref in ${storage.location} cannot be loaded and is set aside: ${failure.getMessage}")
          failures :+= failure
          None
      }
    }.collectFirst { case Some(restored) => restored }.getOrElse {
      if (candidates.forall(ref => mayBeUnfinished(ref) && isUnfinished(folder, ref))) {
        throw new StateNotFound(
          s"Version $version of the state in ${storage.location} is not there: ${failures.head.found}",
          "nothing: a restart of the query goes back to a state that is whole, and runs the batches since then again.",
          failures.head
        )
      }
      val advice = newestSound(
        folder,
        version
      ).fold("no older version loads; restore the folder from a backup or start with a new checkpoint.") { sound =>
        s"version $sound is the newest that loads: keep a copy, remove commits/ above ${sound - 1} and offsets/ above $sound, and restart: batch $sound is run again as it was. A sink that passes over batches it has (files, Delta) must forget those first, or their rows are lost: docs/operations.md, going back to an older version."
      }
      throw StateRestore.damaged(version, storage, failures.map(_.found).mkString(" "), advice, failures.head)
    }
  }

  private def isUnfinished(folder: StoreFolder, ref: VersionRef): Boolean = {
    val own = folder.changelogs.get(ref) ++ folder.handles.get(ref)
    own.nonEmpty && own.forall { file =>
      try !FrameReader.isFinished(storage, file.name)
      catch { case _: StateNotFound => false }
    }
  }

  /** Brings a version back from one given snapshot of its line and nothing else.
    *
    * @param snapshotUid
    *   None: whichever attempt the line has
    */
  def restoreFrom(snapshotVersion: Long, snapshotUid: Option[String], version: Long, uid: Option[String]): Restored = {
    val folder = StoreFolder.list(storage)
    val snapshots = folder.candidates(snapshotVersion, snapshotUid).filter(folder.hasHandle).toSet
    // Snapshots above the one wanted are passed over on the way down to it.
    val plan = folder.candidates(version, uid).headOption.map(files.walk(_, snapshots))
    plan match {
      case Some((line, base @ Some(_))) => load(line, base, folder.refs).fold(throw _, identity)
      case _ =>
        val there = folder.refs.filter(folder.hasHandle).map(_.version).toSeq.sorted
        throw new StateNotFound(
          s"There is no snapshot of version $snapshotVersion in ${storage.location} that leads to version $version.",
          if (there.isEmpty) "leave the snapshot out: this store has none yet, and is read from its changelogs."
          else s"choose one of ${there.mkString(", ")}."
        )
    }
  }

  private def restore(folder: StoreFolder, ref: VersionRef): Restored = {
    @tailrec def from(aside: Set[VersionRef], failures: Seq[SnaplineException]): Restored = {
      val (line, base) =
        try files.line(folder, ref, aside)
        // That nothing is below a snapshot matters less than what is wrong with it.
        catch { case e: StateNotFound => throw failures.headOption.getOrElse(e) }
      load(line, base, folder.refs) match {
        case Right(restored) => restored
        case Left(failure) =>
          log.warn(
            s"The snapshot ${base.get} in ${storage.location} is set aside, an older one is tried: ${failure.getMessage}"
          )
          from(aside + base.get, failures :+ failure)
      }
    }
    from(Set.empty, Nil)
  }

  /** Left: the snapshot fails, and an older one may serve. An error of a changelog is thrown. */
  private def load(
      line: Seq[ChangelogMeta],
      base: Option[VersionRef],
      seen: Set[VersionRef]
  ): Either[SnaplineException, Restored] = {
    val folder = factory.newFolder()
    try {
      val handle = base.map(fetch(_, folder))
      Right(build(folder, line, base, handle, seen))
    } catch {
      case e: SnapshotUnsound =>
        LocalFolder.delete(folder)
        Left(e.reason)
      case e: Throwable =>
        LocalFolder.delete(folder)
        throw e
    }
  }

  private final class SnapshotUnsound(val reason: SnaplineException) extends Exception(reason)

  private def build(
      folder: File,
      line: Seq[ChangelogMeta],
      base: Option[VersionRef],
      handle: Option[HandleMeta],
      seen: Set[VersionRef]
  ): Restored = {
    var backend: KeyedBackend = null
    try {
      (handle.map(_.origin).toSeq ++ line.headOption.map(_.origin)).foreach(check)
      backend = factory.open(folder, restored = handle.isDefined)
      handle.foreach(meta => backend.restoreFamilies(meta.families.map(f => f.descriptor -> f.keys)))
      StateRestore.replay(files, line, backend)
      Restored(
        line.headOption.map(_.ref).orElse(base).get,
        backend,
        seen,
        handle,
        handle.toSeq.flatMap(_.files).map(file => file.name -> file).toMap,
        line.size,
        line.headOption.fold(0L)(_.changelogBytes)
      )
    } catch {
      case e: Throwable =>
        if (backend != null) backend.close()
        throw e
    }
  }

  /** Puts the files of a snapshot into a folder, checked. */
  private def fetch(ref: VersionRef, folder: File): HandleMeta =
    try
      try fetchFiles(storage, ref, folder)
      catch {
        case e @ (_: CheckpointDamaged | _: StateNotFound) if storage.fallback.isDefined =>
          log.warn(s"The executor's own copy of the snapshot $ref in ${storage.location} will not do: ${e.getMessage}")
          LocalFolder.delete(folder)
          fetchFiles(storage.fallback.get, ref, folder)
      }
    catch {
      case e @ (_: CheckpointDamaged | _: StateNotFound) => throw new SnapshotUnsound(e.asInstanceOf[SnaplineException])
      // Errors of storage have a code: this one is of the local disk.
      case e: IOException =>
        throw new StorageFailure(
          s"Could not write $folder: ${e.getClass.getSimpleName}: ${e.getMessage}.",
          "free space on the executor's local disk (spark.local.dir); the task is retried, and nothing in the checkpoint was changed.",
          e
        )
    }

  private def fetchFiles(from: CheckpointStorage, ref: VersionRef, folder: File): HandleMeta = {
    val (meta, small) = new StateFiles(from).handle(ref)
    if (meta.backend != factory.kind) {
      throw new IncompatibleState(
        s"The state in ${storage.location} was written by the ${meta.backend} backend; ${factory.kind} is set.",
        s"set spark.snapline.state.backend.type back to ${meta.backend}, or start with a new checkpoint."
      )
    }
    folder.mkdirs()
    meta.files.foreach(download(from, _, folder))
    small.foreach { case (name, bytes) => Files.write(new File(folder, name).toPath, bytes) }
    meta
  }

  private def download(from: CheckpointStorage, table: TableFile, folder: File): Unit = {
    val path = s"${from.location}/${table.storedName}"
    val input = from.open(table.storedName)
    try {
      if (input.length != table.length) {
        throw Frame.damaged(path, s"it has ${input.length} bytes; the handle names ${table.length}")
      }
      val output = new FileOutputStream(new File(folder, table.name))
      val crc =
        try input.readAll(output.write(_, 0, _))
        finally output.close()
      if (crc != table.crc32c) throw Frame.damaged(path, "its checksum is not the one the handle names")
    } finally input.close()
  }

  /** The newest version below `limit` whose files all pass their checks; reads them. */
  private def newestSound(folder: StoreFolder, limit: Long): Option[Long] = {
    val versions = folder.refs.map(_.version).filter(_ < limit).toSeq.sorted.reverse.take(StateRestore.AdviceDepth)
    versions.find { version =>
      folder.candidates(version).exists { ref =>
        try { restore(folder, ref).backend.close(); true }
        catch { case _: SnaplineException => false }
      }
    }
  }
}

private[store] object StateRestore {

  /** Most older versions that an error message tries, to name one that loads. */
  private val AdviceDepth = 20

  /** The Python package finds the damaged checkpoint by this text (`recovery/damaged_load.py`). */
  def damaged(
      version: Long,
      storage: CheckpointStorage,
      found: String,
      action: String,
      cause: SnaplineException
  ): CheckpointDamaged = new CheckpointDamaged(
    s"Version $version of the state in ${storage.location} is damaged: $found",
    action,
    cause
  )

  /** @param line newest first; the backend has the state below it, and that of the newest afterwards */
  def replay(files: StateFiles, line: Seq[ChangelogMeta], backend: KeyedBackend): Unit =
    line.reverseIterator.foreach { expected =>
      // Families first: entries of new ones follow. Those removed in this version keep their ids to themselves.
      backend.restoreFamilies(expected.families.map(f => f.descriptor -> f.keys))
      files.changelog(expected.ref)((bytes, length) => backend.replay(bytes, length)): Unit
    }
}
