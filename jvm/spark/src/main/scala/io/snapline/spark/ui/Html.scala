package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq, Text}

import io.snapline.checkpoint.history.CheckpointStatus
import io.snapline.spark.ui.page.Request

/** Pieces of pages, in the classes of Spark's own (Bootstrap 5). Text becomes nodes, which are escaped when they are
  * written: nothing here is ever put in as markup.
  */
private[ui] object Html {

  /** @param sort
    *   value of the parameter `sort` that orders the table by this column
    */
  final case class Column(title: String, hint: String = "", sort: String = "")

  def head(columns: Seq[Column]): Node =
    <thead><tr>{columns.map(c => <th scope="col">{hinted(c.title, c.hint)}</th>)}</tr></thead>

  /** Explains a heading to the mouse, and to readers of the page's text. */
  def hinted(title: String, hint: String): Node =
    if (hint.isEmpty) Text(title)
    else <span data-bs-toggle="tooltip" data-bs-placement="top" title={hint}>{title}</span>

  def table(id: String, head: Node, rows: Seq[Node]): Node =
    <div class="table-responsive">
      <table class="table table-bordered table-hover table-sm table-striped table-head-clickable" id={id}>
        {head}
        <tbody>{rows}</tbody>
      </table>
    </div>

  def facts(all: (String, NodeSeq)*): Node =
    <ul class="list-unstyled">{all.map { case (name, value) => <li><strong>{name}: </strong>{value}</li> }}</ul>

  def text(value: String): NodeSeq = Text(value)

  /** A cell that stays on one line. */
  def figure(value: String): Node = <td class="text-nowrap">{value}</td>

  def link(to: String, shown: String): Node = <a href={to}>{shown}</a>

  /** Says it in words; the colour only helps. */
  def status(name: String): Node = {
    val color = name match {
      case CheckpointStatus.Completed.name => "text-bg-success"
      case CheckpointStatus.Failed.name => "text-bg-danger"
      case CheckpointStatus.InProgress.name | Running => "text-bg-primary"
      case _ => "text-bg-secondary"
    }
    <span class={s"badge $color"}>{name.replace('_', ' ')}</span>
  }

  /** Whole, and not in the way: the first line, and the rest on demand. */
  def message(whole: String): NodeSeq = {
    val first = whole.linesIterator.nextOption().getOrElse("")
    if (first == whole && whole.length <= ShortMessage) Text(whole)
    else
      <details>
        <summary>{if (first.length <= ShortMessage) first else first.take(ShortMessage) + "…"}</summary>
        <pre>{whole}</pre>
      </details>
  }

  def tabs(all: Seq[(String, String, Boolean)]): Node =
    <ul class="nav nav-tabs mb-3">{
      all.map { case (title, to, active) =>
        <li class="nav-item">{
          if (active) <a class="nav-link active" aria-current="page" href={to}>{title}</a>
          else <a class="nav-link" href={to}>{title}</a>
        }</li>
      }
    }</ul>

  /** Where programs find what the page shows. */
  def rest(request: Request, path: String): Node =
    <p class="mt-3"><a href={request.rest + path}>JSON</a></p>

  def notFound(what: String): Node = <div class="alert alert-warning" role="alert">{what}</div>

  /** The status of a query. */
  val Running = "RUNNING"

  private val ShortMessage = 100
}
