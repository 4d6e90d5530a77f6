package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.Request

/** A table that is shown page by page and can be ordered by its columns, with links and one form: without scripts.
  *
  * @param id
  *   id of the table; its parameters begin with it
  * @param link
  *   makes the link to the page with the parameters given instead of the table's own
  * @param orders
  *   orders by the value of the parameter `sort`; the first is the default
  */
private[ui] final class PagedTable[T](
    id: String,
    request: Request,
    link: Seq[(String, Any)] => String,
    columns: Seq[Column],
    orders: Seq[(String, T => Long)]
) {
  private val order = request.text(s"$id.sort").filter(name => orders.exists(_._1 == name)).getOrElse(orders.head._1)
  private val descending = request.text(s"$id.desc").forall(_ != "false")
  private val pageSize = request.number(s"$id.size").filter(n => n > 0 && n <= PagedTable.LargestPage)
    .getOrElse(PagedTable.DefaultPage).toInt

  def render(all: IndexedSeq[T], noun: String)(row: T => Node): NodeSeq = {
    val pages = math.max(1, (all.size + pageSize - 1) / pageSize)
    val page = math.min(pages.toLong, math.max(1, request.number(s"$id.page").getOrElse(1L))).toInt
    val key = orders.collectFirst { case (`order`, by) => by }.get
    // Stable, so that the order the rows came in decides between equals.
    val sorted = all.sortBy(row => if (descending) -key(row) else key(row))
    val shown = sorted.slice((page - 1) * pageSize, page * pageSize)
    <div id={s"$id-pages"}>
      {navigation(page, pages, all.size, noun)}
      {Html.table(id, head, shown.map(row))}
    </div>
  }

  private def state(page: Int, sort: String = order, desc: Boolean = descending): String =
    link(Seq(s"$id.sort" -> sort, s"$id.desc" -> desc, s"$id.size" -> pageSize, s"$id.page" -> page)) + s"#$id-pages"

  private def head: Node = <thead><tr>{
    columns.map { column =>
      if (column.sort.isEmpty) <th scope="col">{Html.hinted(column.title, column.hint)}</th>
      else {
        val sorted = column.sort == order
        val direction = if (!sorted) "none" else if (descending) "descending" else "ascending"
        val arrow = if (!sorted) "" else if (descending) " \u25be" else " \u25b4"
        <th scope="col" aria-sort={direction}>
          <a href={state(1, column.sort, !sorted || !descending)}>{Html.hinted(column.title, column.hint)}{arrow}</a>
        </th>
      }
    }
  }</tr></thead>

  private def navigation(page: Int, pages: Int, rows: Int, noun: String): Node = {
    val first = if (rows == 0) 0 else (page - 1) * pageSize + 1
    val range =
      s"${Display.count(first)} to ${Display.count(math.min(rows, page * pageSize))} of ${Display.count(rows)} $noun"
    <div class="d-flex justify-content-between align-items-center mb-2">
      <span>{range}</span>
      {
      if (pages > 1)
        <nav aria-label={s"Pages of $noun"}><ul class="pagination pagination-sm mb-0">{numbers(page, pages)}</ul></nav>
      else NodeSeq.Empty
    }
    </div>
  }

  /** First, last, and those around this one. */
  private def numbers(page: Int, pages: Int): Seq[Node] = {
    val near = (Seq(1, pages) ++ (page - 3 to page + 3)).filter(n => n >= 1 && n <= pages).distinct.sorted
    val step = Seq(("Previous", page - 1), ("Next", page + 1)).map { case (title, to) =>
      if (to < 1 || to > pages) <li class="page-item disabled"><span class="page-link">{title}</span></li>
      else <li class="page-item"><a class="page-link" href={state(to)}>{title}</a></li>
    }
    val numbered = near.zip(0 +: near).flatMap { case (n, before) =>
      val gap = if (n - before > 1) Seq(<li class="page-item disabled"><span class="page-link">…</span></li>) else Nil
      val item =
        if (n == page) <li class="page-item active" aria-current="page"><span class="page-link">{n}</span></li>
        else <li class="page-item"><a class="page-link" href={state(n)}>{n}</a></li>
      gap :+ item
    }
    step.head +: numbered :+ step.last
  }
}

private[ui] object PagedTable {
  val DefaultPage = 100L

  /** More would take a browser seconds to lay out. */
  val LargestPage = 1000L
}
