package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.{Content, TabPage, Request}

/** One checkpoint: its operators, and the partitions of one of them. */
private[spark] final class CheckpointPage(store: CheckpointsStore) extends TabPage {
  import CheckpointPage._

  override val name: String = Name

  override def render(request: Request): Content = {
    val found = for {
      query <- request.text("id").flatMap(store.query)
      checkpoint <- request.number("checkpoint").flatMap(store.checkpoint(query.start, _))
    } yield show(query, checkpoint, request)
    found.getOrElse {
      val body = Html.notFound("This checkpoint is not known here, or not any more.")
      Content("Checkpoint", body ++ Html.link(s"${request.tab}/", "All queries"))
    }
  }

  private def show(query: QueryRecord, c: CheckpointRecord, request: Request): Content = {
    val partitions = store.partitions(query.start, c.id)
    val chosen = request.number("operator").flatMap(id => c.operators.find(_.id == id)).orElse(c.operators.headOption)
    val body = around(query, c, request) ++ facts(c) ++ failure(c) ++
      <h4>Operators</h4> ++
      Html.table("operators-table", Html.head(operatorColumns), c.operators.map(operator(c, _, chosen, request))) ++
      chosen.map(PartitionsTable.render(c, _, partitions, request)).getOrElse(NodeSeq.Empty) ++
      Html.rest(request, s"/${query.start}/details/${c.id}")
    Content(s"Checkpoint ${c.id} of ${QueryPage.nameOf(query)}", body)
  }

  private def around(query: QueryRecord, c: CheckpointRecord, request: Request): Node = {
    def other(id: Long, title: String): NodeSeq =
      store.checkpoint(query.start, id).fold(NodeSeq.Empty)(o =>
        <a class="me-3" href={to(request, o)}>{s"$title (${o.id})"}</a>
      )
    <p>
      <a class="me-3" href={QueryPage.link(request, query.start, "view" -> "history")}>All checkpoints of this query</a>
      {other(c.id - 1, "Older")}
      {other(c.id + 1, "Newer")}
    </p>
  }

  private def facts(c: CheckpointRecord): Node = Html.facts(
    "Status" -> (Html.status(c.statusName) ++ Html.text(if (c.discarded) " discarded" else "")),
    "Batch" -> Html.text(c.batch.toString),
    "Properties" -> Html.text(c.propertiesName),
    "Acknowledged" -> HistoryView.acknowledged(c),
    "Trigger time" -> Html.text(Display.time(c.triggeredMs)),
    "Latest acknowledgement" -> Html.text(Display.time(c.latestAckMs)),
    "End to end duration" -> Html.text(Display.duration(c.duration)),
    "Checkpointed size" -> Html.text(Display.bytes(c.checkpointedSize)),
    "Full size" -> Html.text(Display.bytes(c.stateSize)),
    "In-flight data" -> Html.text(Display.bytes(c.inFlightSize))
  )

  private def failure(c: CheckpointRecord): NodeSeq = c.failed.fold(NodeSeq.Empty) { case (reason, message) =>
    <div class="alert alert-danger" role="alert">
      <strong>{reason}</strong> {s"at ${Display.time(c.endedMs)}"}
      <pre class="mt-2">{message}</pre>
    </div>
  }

  private val operatorColumns = Seq(
    Column("ID"),
    Column("Operator"),
    Column("Acknowledged"),
    Column("Latest Acknowledgement"),
    Column("End to End Duration", "From the trigger to the last acknowledgement of this operator"),
    Column("Checkpointed Size"),
    Column("Full Size"),
    Column("In-flight Data", "Of it, rows that had come and were not processed")
  )

  private def operator(c: CheckpointRecord, o: OperatorRecord, chosen: Option[OperatorRecord], request: Request): Node =
    <tr>
      <td>{o.id}</td>
      <td>{
      if (chosen.contains(o)) <strong aria-current="true">{o.name}</strong>
      else <a href={to(request, c, "operator" -> o.id)}>{o.name}</a>
    }</td>
      <td>{s"${Display.count(o.ackedCount)}/${Display.count(o.storeCount)}"}</td>
      {Html.figure(Display.time(o.latestAckMs))}
      {Html.figure(Display.duration(if (o.ackedCount == 0) -1 else o.latestAckMs - c.triggeredMs))}
      {Html.figure(Display.bytes(o.checkpointedSize))}
      {Html.figure(Display.bytes(o.stateSize))}
      {Html.figure(Display.bytes(o.inFlightSize))}
    </tr>
}

private[ui] object CheckpointPage {
  val Name = "checkpoint"

  def to(request: Request, c: CheckpointRecord, more: (String, Any)*): String =
    request.link(Name, Seq("id" -> c.start, "checkpoint" -> c.id) ++ more: _*)

  def link(request: Request, c: CheckpointRecord): Node = Html.link(to(request, c), c.id.toString)
}
