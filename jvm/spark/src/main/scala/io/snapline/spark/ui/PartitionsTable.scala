package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.checkpoint.history.Percentiles
import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.Request

/** The partitions of one operator in one checkpoint: those that did not answer first, then the slowest. */
private[ui] object PartitionsTable {

  def render(c: CheckpointRecord, operator: OperatorRecord, kept: Option[PartitionsRecord], request: Request): NodeSeq =
    <h4>{s"Partitions of Operator ${operator.id}: ${operator.name}"}</h4> ++
      (kept.flatMap(_.operators.find(_.operator == operator.id)) match {
        case Some(partitions) => tables(c, operator, partitions, request)
        case None if c.ackedCount == 0 =>
          <p>No partition has answered{if (c.inProgress) " yet" else ""}.</p>
        case None =>
          <p>{s"Figures of partitions are kept for the newest checkpoints only (${UiSettings.RetainedDetails})."}</p>
      })

  private def tables(
      c: CheckpointRecord,
      operator: OperatorRecord,
      partitions: OperatorPartitions,
      request: Request
  ): NodeSeq = {
    val rows = partitions.rows
    val acked = rows.filter(_.acked)
    def link(more: Seq[(String, Any)]): String = CheckpointPage.to(request, c, ("operator" -> operator.id) +: more: _*)
    val all = new PagedTable[PartitionFigures]("partitions", request, link, columns, orders)
    (if (acked.isEmpty) NodeSeq.Empty else Html.table("spread-table", Html.head(spreadColumns), spread(acked))) ++
      all.render(rows, "stores of partitions")(row(c, _)) ++
      (if (partitions.size == partitions.all) NodeSeq.Empty
       else <p class="text-body-secondary">{
         s"Of ${Display.count(partitions.all)} those are kept that did not answer, and the slowest."
       }</p>)
  }

  private val spreadColumns = Seq("", "Minimum", "Average", "50 %", "95 %", "Maximum").map(Column(_))

  private def spread(acked: Seq[PartitionFigures]): Seq[Node] = Seq[(String, PartitionFigures => Long, Long => String)](
    ("End to end duration", _.duration, Display.duration),
    ("Start delay", _.startDelay, Display.duration),
    ("Alignment", _.alignment, Display.duration),
    ("Sync phase", _.sync, Display.duration),
    ("Async phase", _.async, Display.duration),
    ("Checkpointed size", _.checkpointedSize, Display.bytes),
    ("Full size", _.stateSize, Display.bytes),
    ("In-flight data", _.inFlightSize, Display.bytes)
  ).map { case (title, value, show) =>
    val values = acked.map(value)
    val percentiles = Percentiles(values)
    val figures = Seq(values.min, values.sum / values.size, percentiles(0.5), percentiles(0.95), values.max)
    <tr><th scope="row">{title}</th>{figures.map(figure => <td>{show(figure)}</td>)}</tr>
  }

  private val columns = Seq(
    Column("Partition", sort = "partition"),
    Column("Store", "A join has several in each partition"),
    Column("Acknowledged"),
    Column("End to End Duration", "From the trigger to the acknowledgement", "duration"),
    Column(
      "Start Delay",
      "From the trigger to the snapshot: the batch itself, and what neither phase accounts for",
      "delay"
    ),
    Column("Alignment", "From its snapshot to that of the operator's last: what it waits for the slowest", "alignment"),
    Column("Sync Phase", "Inside the task", "sync"),
    Column("Async Phase", "In the background, waiting for a thread included", "async"),
    Column("Checkpointed Size", "What it added to storage", "checkpointed"),
    Column("Full Size", "What is read to load it", "full"),
    Column("In-flight Data", "Of it, rows that had come and were not processed", "inflight")
  )

  private val orders: Seq[(String, PartitionFigures => Long)] = Seq(
    "duration" -> (p => if (p.acked) p.duration else Long.MaxValue),
    "partition" -> (_.partition.toLong),
    "delay" -> (_.startDelay),
    "alignment" -> (_.alignment),
    "sync" -> (_.sync),
    "async" -> (_.async),
    "checkpointed" -> (_.checkpointedSize),
    "full" -> (_.stateSize),
    "inflight" -> (_.inFlightSize)
  )

  private def row(c: CheckpointRecord, p: PartitionFigures): Node =
    <tr>
      <td>{p.partition}</td>
      <td>{p.store}</td>
      <td>{
      if (p.acked) Html.text(Display.time(c.triggeredMs + p.duration))
      else <strong class="text-danger-emphasis">missing</strong>
    }</td>
      {Html.figure(Display.duration(p.duration))}
      <td>{if (p.acked) Display.duration(p.startDelay) else Display.None}</td>
      <td>{if (p.acked) Display.duration(p.alignment) else Display.None}</td>
      {Html.figure(Display.duration(p.sync))}
      {Html.figure(Display.duration(p.async))}
      {Html.figure(Display.bytes(p.checkpointedSize))}
      {Html.figure(Display.bytes(p.stateSize))}
      {Html.figure(Display.bytes(p.inFlightSize))}
    </tr>
}
