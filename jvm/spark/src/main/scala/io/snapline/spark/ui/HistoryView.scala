package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.checkpoint.history.CheckpointStatus
import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.Request

/** Every checkpoint that is remembered, page by page. */
private[ui] final class HistoryView(store: CheckpointsStore) extends QueryView {
  import HistoryView._

  override val name = "history"
  override val title = "History"

  override def render(query: QueryRecord, request: Request): NodeSeq = {
    val all = store.checkpoints(query.start)
    val wanted = request.text("status").filter(Statuses.map(_._2).contains)
    val shown = wanted.fold(all)(status => all.filter(_.statusName == status))
    def link(more: Seq[(String, Any)]): String =
      QueryPage.link(request, query.start, Seq("view" -> name) ++ wanted.map("status" -> _) ++ more: _*)
    filters(query, request, wanted) ++
      new PagedTable[CheckpointRecord]("history", request, link, columns, orders).render(
        shown,
        "checkpoints"
      )(row(_, request)) ++
      (if (query.total <= all.size) NodeSeq.Empty
       else <p class="text-body-secondary">{
         s"${Display.count(query.total)} were triggered; the newest are kept (${UiSettings.RetainedCheckpoints})."
       }</p>)
  }

  private def filters(query: QueryRecord, request: Request, wanted: Option[String]): Node = {
    def link(status: Option[String]): String =
      QueryPage.link(request, query.start, Seq("view" -> name) ++ status.map("status" -> _): _*)
    val choices = ("All", Option.empty[String]) +: Statuses.map { case (title, status) => (title, Some(status)) }
    <p>Show: {
      choices.map { case (title, status) =>
        if (status == wanted) <strong class="me-2" aria-current="true">{title}</strong>
        else <a class="me-2" href={link(status)}>{title}</a>
      }
    }</p>
  }

  private val columns = Seq(
    Column("ID", sort = "id"),
    Column("Status"),
    Column("Acknowledged", "Stores of partitions that have their snapshot, of all"),
    Column("Batch", "The checkpoint has the state after this micro-batch"),
    Column("Trigger Time", sort = "triggered"),
    Column("Latest Acknowledgement"),
    Column(
      "End to End Duration",
      "From the trigger to the last acknowledgement; of one that failed, until it was given up",
      "duration"
    ),
    Column("Checkpointed Size", "What it added to storage", "checkpointed"),
    Column("Full Size", "What is read to load it", "full"),
    Column("In-flight Data", "Of it, rows that had come and were not processed", "inflight"),
    Column("Details")
  )

  private val orders: Seq[(String, CheckpointRecord => Long)] = Seq(
    "id" -> (_.id),
    "triggered" -> (_.triggeredMs),
    "duration" -> (_.duration),
    "checkpointed" -> (_.checkpointedSize),
    "full" -> (_.stateSize),
    "inflight" -> (_.inFlightSize)
  )

  private def row(c: CheckpointRecord, request: Request): Node =
    <tr>
      <td>{CheckpointPage.link(request, c)}</td>
      <td>{Html.status(c.statusName)}</td>
      <td>{acknowledged(c)}</td>
      <td>{c.batch}</td>
      {Html.figure(Display.time(c.triggeredMs))}
      {Html.figure(Display.time(c.latestAckMs))}
      {Html.figure(Display.duration(c.duration))}
      {Html.figure(Display.bytes(c.checkpointedSize))}
      {Html.figure(Display.bytes(c.stateSize))}
      {Html.figure(Display.bytes(c.inFlightSize))}
      <td>{details(c)}</td>
    </tr>

  private def details(c: CheckpointRecord): NodeSeq = {
    val notes = (if (c.savepoint) Seq("savepoint") else Nil) ++ (if (c.discarded) Seq("discarded") else Nil)
    if (c.failed.isDefined) failure(c) else Html.text(notes.mkString(", "))
  }
}

private[ui] object HistoryView {
  private val Statuses = Seq(
    "In progress" -> CheckpointStatus.InProgress.name,
    "Completed" -> CheckpointStatus.Completed.name,
    "Failed" -> CheckpointStatus.Failed.name
  )

  def acknowledged(c: CheckpointRecord): NodeSeq =
    Html.text(s"${Display.count(c.ackedCount)}/${Display.count(c.storeCount)}")

  def failure(c: CheckpointRecord): NodeSeq =
    c.failed.fold(NodeSeq.Empty) { case (reason, message) =>
      <code>{reason}</code> ++ Html.text(" ") ++ Html.message(message)
    }
}
