package io.snapline.spark.ui

import org.scalatest.funsuite.AnyFunSuite

class PlotSpec extends AnyFunSuite {
  private def plot(points: (Long, Long)*): Plot =
    new Plot(
      "Duration",
      Seq(Line("end to end", "--bs-primary", points.toIndexedSeq)),
      Nil,
      Display.duration,
      Plot.roundNumber
    )

  test("values lie between the axis and the top, in the order of time") {
    val svg = plot((1000L to 9000L by 1000).map(t => (t, t / 10)): _*).render
    val points = (svg \\ "polyline" \ "@points").text.split(' ').map(_.split(',').map(_.toDouble))
    assert(points.map(_(0)).toSeq == points.map(_(0)).sorted.toSeq &&
      points.map(_(1)).toSeq == points.map(_(1)).sorted.reverse.toSeq)
    assert(points.flatten.forall(p => p >= 12 && p <= 604))
    assert((svg \\ "circle").size == 9)
  }

  test("thousands of points become hundreds, and the greatest is among them") {
    val points = (0 until 10000).map(i => (i.toLong, if (i == 7777) 999L else 5L))
    val thin = Plot.thinned(points)
    assert(thin.size == 400 && thin.contains((7777L, 999L)) && thin.map(_._1) == thin.map(_._1).sorted)
    assert(Plot.thinned(points.take(400)) == points.take(400))
  }

  test("nothing, one value, and equal values can be drawn") {
    assert(new Plot("D", Seq(Line("l", "--c", IndexedSeq.empty)), Nil, _.toString, Plot.roundNumber).render.isEmpty)
    for (svg <- Seq(plot((5L, 0L)), plot((5L, 7L)), plot((5L, 7L), (5L, 7L))).map(_.render)) {
      assert(!(svg \\ "polyline" \ "@points").text.contains("NaN") && (svg \\ "polyline").nonEmpty)
    }
    val failures = new Plot("D", Seq(Line("l", "--c", IndexedSeq.empty)), Seq(3L), _.toString, Plot.roundNumber).render
    assert((failures \\ "circle").size == 1)
  }

  test("the axis ends at a number whose quarters are round") {
    assert(Seq(0L, 4L, 5L, 199L, 1001L).map(Plot.roundNumber) == Seq(4L, 4L, 8L, 200L, 2000L))
    assert(Seq(0L, 1023L, 1024L * 525).map(Plot.roundBytes) == Seq(4L, 2000L, 1024L * 800))
    for (value <- Seq(0L, 7L, 1500L, 1L << 20, 3L << 30, 5L << 40)) assert(Plot.roundBytes(value) >= value)
  }

  test("figures are short and have their unit") {
    assert(Seq(-1L, 0L, 999L, 1500L, 90000L, 5400000L, 400000000L).map(Display.duration) ==
      Seq("-", "0 ms", "999 ms", "1.5 s", "1.5 min", "1.5 h", "4.6 d"))
    assert(Seq(-1L, 1023L, 1536L, 5L << 20, 1L << 60).map(Display.bytes) ==
      Seq("-", "1023 B", "1.5 KiB", "5.0 MiB", "1024.0 PiB"))
    assert(Display.time(-1) == "-" && Display.count(1234567) == "1,234,567")
  }
}
