package io.snapline.spark.ui

import scala.util.Random
import scala.xml.NodeSeq

import org.apache.spark.util.kvstore.InMemoryStore

import io.snapline.checkpoint.history.{CheckpointStatus, RestoredCheckpoint, Summary}
import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.page.{Content, Request}

/** Events as a reporter posts them, and a tab that has heard them. */
object UiFixture {
  val config: ConfigRecord =
    ConfigRecord(10000, 600000, 0, 1, 3, 2, "RETAIN_ON_CANCELLATION", durableBatches = false)

  val settings: UiSettings = UiSettings.read(Map.empty)

  /** An operator with these partitions; of one that has no duration there is no answer. */
  def partitions(durations: Seq[Long], operator: Long = 0): OperatorPartitions = {
    def column(value: Int => Long): Array[Long] =
      durations.indices.map(i => if (durations(i) < 0) -1L else value(i)).toArray
    OperatorPartitions(
      operator,
      durations.size,
      Seq("default"),
      durations.indices.toArray,
      Array.fill(durations.size)(0),
      durations.toArray,
      column(i => 100L + i),
      column(i => 1000L + i),
      column(_ => 1L),
      column(_ => 2L),
      column(i => 10L * i)
    )
  }

  def checkpoint(
      start: String,
      id: Long,
      status: CheckpointStatus = CheckpointStatus.Completed,
      duration: Long = 250,
      stores: Int = 4,
      name: String = "stateStoreSave",
      message: String = "No room."
  ): CheckpointRecord = {
    val triggered = 1700000000000L + id * 1000
    val isFailed = status == CheckpointStatus.Failed
    val acked = if (status == CheckpointStatus.Completed) stores else stores / 2
    CheckpointRecord(
      CheckpointRecord.key(start, id),
      start,
      id,
      status.name,
      "CHECKPOINT_RETAINED_ON_CANCELLATION",
      savepoint = false,
      batch = id * 10,
      triggered,
      if (acked == 0) -1 else triggered + duration,
      if (status == CheckpointStatus.InProgress) -1 else triggered + duration + 5,
      checkpointedSize = 1000 + id,
      stateSize = 5000 + id,
      inFlightSize = 30 * id,
      stores,
      acked,
      discarded = false,
      if (isFailed) Some("CHECKPOINT_EXPIRED") else None,
      if (isFailed) Some(message) else None,
      Seq(OperatorRecord(0, name, stores, acked, triggered + duration, 1000 + id, 5000 + id, 30 * id))
    )
  }

  def totals(total: Long, completed: Long, failed: Long = 0): Totals =
    Totals(total, completed, failed, 0, Summary().add(1000), Summary().add(5000), Summary().add(250), Summary().add(30))

  def changed(c: CheckpointRecord, totals: Totals, partitions: OperatorPartitions*): CheckpointChanged =
    CheckpointChanged(c.start, c, totals, partitions)

  /** What the pages show after these. */
  def heard(settings: UiSettings, events: CheckpointEvent*): CheckpointsStore = {
    val store = new InMemoryStore
    val listener = new CheckpointsListener(store, settings)
    events.foreach(listener.onOtherEvent)
    new CheckpointsStore(store)
  }

  def start(name: String, folder: String = "file:/checkpoint", time: Long = 1700000000000L): CheckpointingStarted =
    CheckpointingStarted(name, time, folder, config)

  def begun(start: String, name: Option[String] = Some("orders")): CheckpointingRunBegun =
    CheckpointingRunBegun(start, 1700000000500L, s"query-of-$start", s"run-of-$start", name)

  /** A query with a checkpoint of each kind: 1 completed, 2 failed, 3 completed, 4 in progress; begun from 7. */
  def ofEachKind(
      name: String = "orders",
      operator: String = "stateStoreSave",
      message: String = "No room.",
      folder: String = "file:/c"
  ): CheckpointsStore = {
    def once(total: Long, completed: Long, failed: Long = 0): Totals =
      totals(total, completed, failed).copy(restored = 1)
    heard(
      settings,
      start("s", folder),
      begun("s", Some(name)),
      CheckpointRestored("s", RestoredCheckpoint(7, 1700000000600L, savepoint = false), once(0, 0)),
      changed(checkpoint("s", 1, name = operator), once(1, 1), partitions(Seq(10, 20, 30, 40))),
      changed(
        checkpoint("s", 2, CheckpointStatus.Failed, name = operator, message = message),
        totals(2, 1, 1),
        partitions(Seq(10, -1, 30, -1))
      ),
      changed(checkpoint("s", 3, duration = 500, name = operator), once(3, 2, 1), partitions(Seq(10, 20, 30, 500))),
      changed(
        checkpoint("s", 4, CheckpointStatus.InProgress, name = operator),
        once(4, 2, 1),
        partitions(Seq(5, -1, 6, -1))
      )
    )
  }

  def render(store: CheckpointsStore, page: String, parameters: (String, String)*): Content =
    CheckpointsUi.pages(store).find(_.name == page).get
      .render(Request("/checkpoints", "/api/v1/applications/app/checkpoints", parameters.toMap))

  /** Cells of a table, row by row. */
  def cells(
      body: NodeSeq,
      table: String
  ): Seq[Seq[String]] = (body \\ "table").filter(t => (t \ "@id").text == table).flatMap(_ \ "tbody" \ "tr")
    .map(row => (row \ "_").map(_.text.trim))

  def random(seed: Long): Random = new Random(seed)
}
