package io.snapline.spark.ui

import scala.xml.NodeSeq

import io.snapline.spark.ui.page.{Content, TabPage, Request}

/** One start of a query, in four views as in Flink. */
private[spark] final class QueryPage(store: CheckpointsStore) extends TabPage {
  override val name: String = QueryPage.Name

  private val views: Seq[QueryView] = Seq(
    new OverviewView(store),
    new HistoryView(store),
    new SummaryView(store),
    ConfigurationView
  )

  override def render(request: Request): Content =
    request.text("id").flatMap(store.query) match {
      case None =>
        val body = Html.notFound("This query is not known here, or not any more.")
        Content("Checkpoints", body ++ Html.link(s"${request.tab}/", "All queries"))
      case Some(query) =>
        val shown = request.text("view").flatMap(name => views.find(_.name == name)).getOrElse(views.head)
        val tabs = views.map(v => (v.title, QueryPage.link(request, query.start, "view" -> v.name), v eq shown))
        val body = head(query) ++ Html.tabs(tabs) ++ shown.render(query, request) ++
          Html.rest(request, shown.rest(query))
        Content(s"Checkpoints of ${QueryPage.nameOf(query)}", body)
    }

  private def head(query: QueryRecord): NodeSeq = Html.facts(
    "Status" -> Html.status(QueryPage.statusOf(query)),
    "Checkpoint folder" -> Html.text(query.folder),
    "Query ID" -> Html.text(if (query.query.isEmpty) Display.None else query.query),
    "Run ID" -> Html.text(
      if (query.run.isEmpty) Display.None
      else if (query.runs > 1) s"${query.run} (run ${query.runs} of this start)"
      else query.run
    ),
    "Started" -> Html.text(Display.time(query.startedMs)),
    "Ended" -> Html.text(Display.time(query.endedMs))
  )
}

/** One of the views of a query's page. */
private[ui] trait QueryView {
  def name: String
  def title: String
  def render(query: QueryRecord, request: Request): NodeSeq

  /** Where the REST interface has the same. */
  def rest(query: QueryRecord): String = s"/${query.start}"
}

private[ui] object QueryPage {
  val Name = "query"

  def link(request: Request, start: String, more: (String, Any)*): String =
    request.link(Name, ("id" -> start) +: more: _*)

  def nameOf(query: QueryRecord): String = query.name.getOrElse("<no name>")

  def statusOf(query: QueryRecord): String = if (query.running) Html.Running else query.ending
}
