package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.{Content, TabPage, Request}

/** The tab's first page: each start of a query, those that run before those that ended. */
private[spark] final class QueriesPage(store: CheckpointsStore) extends TabPage {
  override val name: String = ""

  override def render(request: Request): Content = {
    val (running, ended) = store.queries.partition(_.running)
    val body = section("running", "Active Queries", running, request) ++
      section("ended", "Completed Queries", ended, request)
    Content("Checkpoints", body ++ Html.rest(request, ""))
  }

  private def section(id: String, title: String, queries: Seq[QueryRecord], request: Request): NodeSeq =
    if (queries.isEmpty) NodeSeq.Empty
    else
      <h4>{s"$title (${queries.size})"}</h4> ++
        Html.table(s"$id-table", Html.head(columns), queries.map(row(_, request)))

  private val columns = Seq(
    Column("Name"),
    Column("Status"),
    Column("ID", "Spark's id of the query, which its checkpoint folder keeps"),
    Column("Started"),
    Column("Runs", "Of this start: more than one if it failed and was started again by itself"),
    Column("Triggered"),
    Column("In Progress"),
    Column("Completed"),
    Column("Failed"),
    Column("Restored"),
    Column("Last Completed"),
    Column("Duration", "Of the last that completed, from its trigger to its last acknowledgement"),
    Column("Full Size", "Of the last that completed: what is read to load it")
  )

  private def row(query: QueryRecord, request: Request): Node = {
    val latest = query.latestCompleted
    <tr>
      <td><a href={QueryPage.link(request, query.start)}>{QueryPage.nameOf(query)}</a></td>
      <td>{Html.status(QueryPage.statusOf(query))}</td>
      <td>{query.query}</td>
      {Html.figure(Display.time(query.startedMs))}
      <td>{query.runs}</td>
      <td>{Display.count(query.total)}</td>
      <td>{Display.count(query.inProgress)}</td>
      <td>{Display.count(query.completed)}</td>
      <td>{failed(query)}</td>
      <td>{Display.count(query.restored)}</td>
      <td>{latest.fold(Display.None)(c => s"${c.id}, ${Display.time(c.endedMs)}")}</td>
      <td>{latest.fold(Display.None)(c => Display.duration(c.duration))}</td>
      <td>{latest.fold(Display.None)(c => Display.bytes(c.stateSize))}</td>
    </tr>
  }

  private def failed(query: QueryRecord): NodeSeq =
    if (query.failed == 0) Html.text("0")
    else <strong class="text-danger-emphasis">{Display.count(query.failed)}</strong>
}
