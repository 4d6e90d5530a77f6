package io.snapline.spark.ui

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.ui.page.Request

class PagedTableSpec extends AnyFunSuite {
  private def page(rows: Int, parameters: (String, String)*): scala.xml.NodeSeq = {
    val request = Request("/t", "/api", parameters.toMap)
    def link(more: Seq[(String, Any)]): String = more.map { case (n, v) => s"$n=$v" }.mkString("?", "&", "")
    val columns = Seq(Html.Column("N", sort = "n"), Html.Column("Text"))
    new PagedTable[Int]("t", request, link, columns, Seq("n" -> (_.toLong)))
      .render((1 to rows).toIndexedSeq, "things")(n => <tr><td>{n}</td><td/></tr>)
  }

  private def shown(body: scala.xml.NodeSeq): Seq[Int] = (body \\ "tbody" \ "tr").map(r => (r \ "td").head.text.toInt)

  test("pages follow one another without gap or overlap, whatever their size") {
    for (rows <- Seq(0, 1, 7, 100, 101, 250); size <- Seq(1, 7, 100)) {
      val pages = math.max(1, (rows + size - 1) / size)
      val all = (1 to pages).flatMap(n => shown(page(rows, "t.size" -> size.toString, "t.page" -> n.toString)))
      assert(all == (1 to rows).reverse)
    }
  }

  test("the navigation leads to every page in steps, and says where one is") {
    val body = page(1050, "t.page" -> "5")
    assert((body \\ "nav" \\ "_").exists(n => (n \ "@aria-current").text == "page" && n.text == "5"))
    val items = (body \\ "nav" \\ "li").map(_.text)
    assert(items == Seq("Previous", "1", "2", "3", "4", "5", "6", "7", "8", "…", "11", "Next"))
    assert(body.text.contains("401 to 500 of 1,050 things"))
    assert((page(3) \\ "nav").isEmpty)
  }

  test("a heading orders by its column, and turns the order round") {
    val sorted = (page(3) \\ "th").head
    assert((sorted \ "@aria-sort").text == "descending" && (sorted \ "a" \ "@href").text.contains("t.desc=false"))
    assert(shown(page(3, "t.desc" -> "false")) == Seq(1, 2, 3))
    assert(((page(3) \\ "th")(1) \ "a").isEmpty)
  }

  test("no more rows than a browser bears") {
    assert(shown(page(5000, "t.size" -> "4000")).size == 100)
    assert(shown(page(5000, "t.size" -> "1000")).size == 1000)
  }
}
