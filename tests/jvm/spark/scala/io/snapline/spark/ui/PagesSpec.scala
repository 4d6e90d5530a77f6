package io.snapline.spark.ui

import org.apache.spark.util.kvstore.InMemoryStore
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.page.Request
import io.snapline.spark.ui.UiFixture._

class PagesSpec extends AnyFunSuite {
  private val store = ofEachKind()

  test("the first page has a row for each start, and what runs comes first") {
    val two = heard(
      settings,
      start("old", time = 1),
      begun("old"),
      changed(checkpoint("old", 1), totals(1, 1)),
      CheckpointingEnded("old", 2, "FAILED"),
      start("new", time = 3)
    )
    val body = render(two, "").body
    assert(cells(body, "running-table").map(_.take(3)) == Seq(Seq("<no name>", "RUNNING", "")))
    val ended = cells(body, "ended-table").head
    assert(ended.take(3) == Seq("orders", "FAILED", "query-of-old") &&
      ended.slice(5, 10) == Seq("1", "0", "1", "0", "0"))
    assert(render(heard(settings), "").body.text.trim == "JSON", "nothing to show is no failure")
  }

  test("overview: counts, what is under way, the latest of each kind, plots") {
    val body = render(store, "query", "id" -> "s").body
    assert(cells(body, "counts-table") == Seq(Seq("4", "1", "2", "1", "1")))
    assert(cells(body, "progress-table").map(row => (row.head, row(3))) == Seq(("4", "2/4")))
    val latest = cells(body, "latest-table")
    assert(latest.map(_.take(2)) ==
      Seq(Seq("Completed", "3"), Seq("Savepoint", "-"), Seq("Failed", "2"), Seq("Restored", "7")))
    assert(latest(2).last == "CHECKPOINT_EXPIRED No room.")
    assert((body \\ "svg").size == 2 && ((body \\ "svg").head \ "@aria-label").text.contains("250 ms to 500 ms"))
  }

  test("history: the newest first, filtered, ordered as asked") {
    def ids(parameters: (String, String)*): Seq[String] =
      cells(render(store, "query", Seq("id" -> "s", "view" -> "history") ++ parameters: _*).body, "history")
        .map(_.head)
    assert(ids() == Seq("4", "3", "2", "1"))
    assert(ids("status" -> "FAILED") == Seq("2") && ids("status" -> "COMPLETED") == Seq("3", "1"))
    assert(ids("status" -> "NONSENSE") == Seq("4", "3", "2", "1"))
    assert(ids("history.sort" -> "duration") == Seq("3", "2", "4", "1"))
    assert(ids("history.sort" -> "full", "history.desc" -> "false") == Seq("1", "2", "3", "4"))
    assert(ids("history.size" -> "3", "history.page" -> "2") == Seq("1"))
  }

  test("summary and configuration") {
    val summary = cells(render(store, "query", "id" -> "s", "view" -> "summary").body, "summary-table")
    assert(summary.map(_.head) == Seq("End to end duration", "Checkpointed size", "Full size", "In-flight data"))
    assert(summary.head.slice(3, 5) == Seq("250 ms", "500 ms"))
    val configuration =
      cells(render(store, "query", "id" -> "s", "view" -> "configuration").body, "configuration-table")
    assert(configuration.take(2) == Seq(
      Seq("Mode", "spark.snapline.execution.checkpointing.mode", "EXACTLY_ONCE"),
      Seq("Interval", "spark.snapline.execution.checkpointing.interval", "10.0 s")
    ))
    assert(configuration.map(_.last).takeRight(3) == Seq("3", "2", "RETAIN_ON_CANCELLATION"))
  }

  test("a sink that has each row once has a row in the overview") {
    assert((render(store, "query", "id" -> "s").body \\ "table").forall(table => (table \ "@id").text != "sink-table"))
    val kv = new InMemoryStore
    val listener = new CheckpointsListener(kv, settings)
    listener.onOtherEvent(start("s"))
    listener.onOtherEvent(CheckpointingRunBegun("s", 1L, "query", "run", None))
    listener.heard("run", SinkRecord(evil, 1234, 2, 56789, 3))
    val body = render(new CheckpointsStore(kv), "query", "id" -> "s").body
    assert(cells(body, "sink-table") == Seq(Seq(evil, "1,234", "2", "56,789", "3")))
  }

  test("a checkpoint: who did not answer stands first, then who was slow") {
    val body = render(store, "checkpoint", "id" -> "s", "checkpoint" -> "2").body
    assert(cells(body, "operators-table").map(_.take(3)) == Seq(Seq("0", "stateStoreSave", "2/4")))
    assert(cells(body, "partitions").map(row => (row.head, row(2) == "missing")) ==
      Seq(("1", true), ("3", true), ("2", false), ("0", false)))
    assert(cells(body, "spread-table").head == Seq("End to end duration", "10 ms", "20 ms", "10 ms", "30 ms", "30 ms"))
    // Start delay, alignment and in-flight data of those that answered: 2 took its snapshot last.
    assert(cells(body, "partitions").drop(2).map(row => (row(4), row(5), row(10))) ==
      Seq(("27 ms", "0 ms", "20 B"), ("7 ms", "20 ms", "0 B")))
    assert(cells(body, "spread-table").find(_.head == "Alignment").get.last == "20 ms")
    assert((body \\ "pre").text == "No room.")
    val links = (body \\ "a").map(_.text)
    assert(links.contains("Older (1)") && links.contains("Newer (3)"))
  }

  test("what is not there, or asked for nonsensically, is said") {
    for (
      parameters <-
        Seq(Nil, Seq("id" -> "x"), Seq("id" -> "s", "checkpoint" -> "99"), Seq("id" -> "s", "checkpoint" -> "<x>"))
    ) {
      assert(render(store, "checkpoint", parameters: _*).body.text.contains("not known here"))
    }
    assert(render(store, "query", "id" -> "x").body.text.contains("not known here"))
    val nonsense =
      Seq("id" -> "s", "view" -> "none", "history.page" -> "-1", "history.size" -> "x", "history.sort" -> "'")
    assert(cells(render(store, "query", nonsense: _*).body, "counts-table").nonEmpty)
    val history = Seq(
      "id" -> "s",
      "view" -> "history",
      "history.page" -> "999999999999",
      "history.size" -> "0",
      "history.sort" -> "'"
    )
    assert(cells(render(store, "query", history: _*).body, "history").size == 4)
  }

  test("partitions are no longer there when newer checkpoints took their place") {
    val few = heard(
      settings.copy(details = 1),
      start("s"),
      changed(checkpoint("s", 1), totals(1, 1), partitions(Seq(1, 2))),
      changed(checkpoint("s", 2), totals(2, 2), partitions(Seq(1, 2)))
    )
    assert(render(few, "checkpoint", "id" -> "s", "checkpoint" -> "1").body.text.contains(UiSettings.RetainedDetails))
    assert(cells(render(few, "checkpoint", "id" -> "s", "checkpoint" -> "2").body, "partitions").size == 2)
  }

  private val evil = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;"

  for (
    page <- Seq(
      Nil,
      Seq("view" -> "history"),
      Seq("view" -> "summary"),
      Seq("view" -> "configuration"),
      Seq("checkpoint" -> "2")
    )
  ) {
    test(s"text of users is text, never markup: $page") {
      val harmed = ofEachKind(name = evil, operator = evil, message = evil, folder = evil)
      val name = if (page.exists(_._1 == "checkpoint")) "checkpoint" else "query"
      val content = render(harmed, name, ("id" -> "s") +: page: _*)
      val written = (<h3>{content.title}</h3> ++ content.body).toString
      assert(!written.contains("<script") && !written.contains("<img"), written)
      assert(written.contains("&lt;script&gt;alert('x')&lt;/script&gt;&quot;&gt;&lt;img") ||
        written.contains("&lt;script&gt;alert('x')&lt;/script&gt;\"&gt;&lt;img"))
      // As a browser reads it.
      val read = scala.xml.XML.loadString(s"<html>$written</html>")
      assert((read \\ "script").isEmpty && (read \\ "img").isEmpty && read.text.contains(evil))
    }
  }

  test("parameters of a link are encoded") {
    val request = Request("/checkpoints", "/api", Map.empty)
    assert(request.link("query", "id" -> "a&b=<c>\"") == "/checkpoints/query/?id=a%26b%3D%3Cc%3E%22")
  }

  test("every table has headings, and every link leads somewhere in the tab or to its JSON") {
    for (
      page <- Seq(
        "query" -> Seq("id" -> "s"),
        "query" -> Seq("id" -> "s", "view" -> "history"),
        "checkpoint" -> Seq("id" -> "s", "checkpoint" -> "1")
      )
    ) {
      val body = render(store, page._1, page._2: _*).body
      assert((body \\ "table").forall(t => (t \ "thead" \\ "th").nonEmpty))
      val links = (body \\ "a" \\ "@href").map(_.text)
      assert(links.nonEmpty && links.forall(l => l.startsWith("/checkpoints/") || l.startsWith("/api/v1/")), links)
    }
  }
}
