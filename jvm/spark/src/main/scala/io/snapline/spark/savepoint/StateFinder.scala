package io.snapline.spark.savepoint

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.json4s.DefaultFormats
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods

import io.snapline.checkpoint.{CheckpointMetadata, StoreId}
import io.snapline.error.{CheckpointDamaged, IncompatibleState, NotACheckpoint, StateNotFound}
import io.snapline.spark.protocol.CheckpointFolder

/** Looks into the checkpoint folder of a query, which may run, for the state to read. Changes nothing there. */
private[savepoint] final class StateFinder(session: SparkSession, checkpoint: String) {
  private val configuration = SessionInternals.hadoopConfiguration(session)
  private val root = {
    val path = new Path(checkpoint)
    path.getFileSystem(configuration).makeQualified(path)
  }
  private val files = root.getFileSystem(configuration)

  /** @param number
    *   number of a checkpoint; None: the newest complete state
    * @param readBack
    *   whether each handle of a numbered checkpoint is read first, so that nothing is begun with one that names files
    *   that are gone
    */
  def find(number: Option[Long], readBack: Boolean): FoundState = {
    if (!Seq("offsets", "commits").forall(log => files.exists(new Path(root, log)))) throw new NotACheckpoint(
      s"$root has not both offsets/ and commits/.",
      "give the checkpointLocation of a query."
    )
    val checkpoint = numbered(number)
    if (readBack) checkpoint.foreach(found => folder.verify(found.handles))
    checkpoint.fold(newest())(ofCheckpoint(_, isAsked = number.isDefined))
  }

  /** @param isAsked
    *   it need not be the newest, and the query may run
    */
  private def ofCheckpoint(metadata: CheckpointMetadata, isAsked: Boolean): FoundState = {
    val uids = metadata.handles.map { case (store, handle) => store -> handle.ref.uid }
    val version = metadata.batch + 1
    val ahead = metadata.handles.values.count(_.ref.version > version)
    if (ahead > 0) throw new IncompatibleState(
      s"Checkpoint ${metadata.checkpoint} of $root was taken AT_LEAST_ONCE: $ahead of its ${uids.size} snapshots hold batches after batch ${metadata.batch}.",
      "take a savepoint of the running query (query.savepoint): it is of one batch."
    )
    val (offsets, commit) = (metadata.offsets, metadata.commit)
    val operators = operatorsOf(metadata.batch, offsets)
    val found = FoundState(
      root.toString,
      metadata.batch,
      Some(metadata.checkpoint),
      version,
      offsets,
      commit,
      if (isAsked) None else plannedAfter(metadata.batch),
      uids,
      operators
    )
    LeftOutStates.settle(session, found)
  }

  /** The log's entry of the next batch, if that was planned and this is the last one committed. */
  private def plannedAfter(batch: Long): Option[String] = {
    val isLast = batches("commits").lastOption.contains(batch) && batches("offsets").lastOption.contains(batch + 1)
    if (isLast) entry("offsets", batch + 1) else None
  }

  private def newest(): FoundState = {
    val committed = batches("commits").lastOption.getOrElse(
      throw new StateNotFound(s"No batch of $root was committed.", "wait for the first.")
    )
    val batch = if (hasInterval) durableBefore else committed
    def needed(log: String): String = entry(log, batch).getOrElse(
      throw new StateNotFound(s"$root/$log/$batch does not exist.", "check the checkpoint's path.")
    )
    val (offsets, commit) = (needed("offsets"), needed("commits"))
    val operators = operatorsOf(batch, offsets)
    val uids = committedUids(operators, commit)
    val found =
      FoundState(root.toString, batch, None, batch + 1, offsets, commit, plannedAfter(batch), uids, operators)
    LeftOutStates.settle(session, found)
  }

  private def operatorsOf(batch: Long, offsets: String): Seq[OperatorLayout] = {
    val settings = offsets.linesIterator.drop(1).nextOption().getOrElse("")
    if (json(settings, s"offsets/$batch") \ "conf" == JNothing) throw new CheckpointDamaged(
      s"$root/offsets/$batch has no settings.",
      "run the query for a batch on Spark 4.2."
    )
    new CheckpointStates(root, batch, configuration, SessionInternals.settingsOfBatch(session, settings)).operators
  }

  private def numbered(number: Option[Long]): Option[CheckpointMetadata] = number match {
    case Some(wanted) =>
      val there = ids
      if (!there.contains(wanted)) throw new StateNotFound(
        s"There is no checkpoint $wanted in $root; there is ${if (there.isEmpty) "none" else there.mkString(", ")}.",
        "ask for one of those."
      )
      Some(folder.read(wanted))
    case None if hasInterval =>
      if (files.exists(new Path(root, StateFinder.Journal))) throw new StateNotFound(
        s"A recovery of $root has begun and not ended: its state is behind its sink.",
        "start the query with snapline.start, which ends it; or give the number of a checkpoint."
      )
      val newest = ids.lastOption.map(folder.read)
      if (newest.isEmpty && durableBefore < 0) throw new StateNotFound(
        s"$root has no complete checkpoint yet, and its batches are durable at checkpoints only.",
        "wait for the first, or start the query with snapline.start without an interval for a moment."
      )
      newest.filter(_.batch >= durableBefore)
    case None => None
  }

  private lazy val folder = new CheckpointFolder(root, configuration)

  /** Numbers of the checkpoints that have a `_metadata`. */
  private def ids: Seq[Long] = {
    val own = new Path(root, CheckpointFolder.Own)
    list(own).flatMap(CheckpointMetadata.number).sorted.filter { id =>
      files.exists(new Path(own, CheckpointMetadata.name(id)))
    }
  }

  private lazy val hasInterval: Boolean = files.exists(new Path(root, StateFinder.IntervalMark))

  /** The newest batch that was durable by itself before state was stored at checkpoints only; -1: none was. */
  private lazy val durableBefore: Long = text(StateFinder.IntervalMark).flatMap(_.trim.toLongOption).getOrElse(-1L)

  private def batches(log: String): Seq[Long] =
    list(new Path(root, log)).filter(_.forall(c => '0' <= c && c <= '9')).map(_.toLong).sorted

  private def list(folder: Path): Seq[String] =
    try files.listStatus(folder).toSeq.map(_.getPath.getName)
    catch { case _: FileNotFoundException => Nil }

  /** An entry of a log, once it is sure to be one. */
  private def entry(log: String, batch: Long): Option[String] = {
    val found = text(s"$log/$batch")
    found.foreach { text =>
      if (!text.matches("(?s)v\\d+\\s*\n.*")) throw unreadable(s"$log/$batch")
      json(text.linesIterator.drop(1).nextOption().getOrElse("{}"), s"$log/$batch"): Unit
    }
    found
  }

  private def json(text: String, name: String): JValue =
    JsonMethods.parseOpt(text).collect { case json: JObject => json }.getOrElse(throw unreadable(name))

  private def unreadable(name: String) = new CheckpointDamaged(
    s"$root/$name, which Spark wrote, cannot be read.",
    "restore it from a backup, or go back to a checkpoint before it."
  )

  private def text(name: String): Option[String] =
    try {
      val input = files.open(new Path(root, name))
      try Some(new String(input.readAllBytes(), UTF_8))
      finally input.close()
    } catch { case _: FileNotFoundException => None }

  /** In checkpoint format 2 the commit names the attempt of each store. */
  private def committedUids(operators: Seq[OperatorLayout], commit: String): Map[StoreId, String] = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    json(commit.linesIterator.drop(1).nextOption().getOrElse("{}"), "commits") \ "stateUniqueIds" match {
      case ids: JObject => (for {
          operator <- operators
          (stores, partition) <- (ids \ operator.id.toString).extractOrElse(List.empty[List[String]]).zipWithIndex
          (store, uid) <- operator.storesInCommits.zip(stores)
        } yield StoreId(operator.id, partition, store) -> uid).toMap
      case _ => Map.empty
    }
  }
}

private object StateFinder {
  // As the Python package names them.
  private val IntervalMark = "snapline/interval"
  private val Journal = "snapline/replay/journal"
}
