package io.snapline.spark.ui

import java.util.Locale

import scala.xml.{Node, NodeSeq}

/** A line over time, drawn on the server: no script, nothing to load. Its colours are the page's own, so it follows the
  * theme.
  *
  * @param color
  *   a custom property of Bootstrap's themes
  */
private[ui] final case class Line(name: String, color: String, points: IndexedSeq[(Long, Long)])

/** @param show
  *   a value with its unit
  * @param failures
  *   moments that are marked on the axis
  * @param ceiling
  *   the least round number above a value, in the unit's own steps
  */
private[ui] final class Plot(
    title: String,
    lines: Seq[Line],
    failures: Seq[Long],
    show: Long => String,
    ceiling: Long => Long
) {
  import Plot._

  private val times = lines.flatMap(_.points.map(_._1)) ++ failures
  private val (from, to) = if (times.isEmpty) (0L, 1L) else (times.min, math.max(times.max, times.min + 1))
  private val top = math.max(1L, ceiling(lines.flatMap(_.points.map(_._2)).maxOption.getOrElse(0L)))

  def render: NodeSeq =
    if (times.isEmpty) NodeSeq.Empty
    else
      <figure class="d-inline-block me-4 mb-3">
        <figcaption><strong>{title}</strong>{legend}</figcaption>
        <svg viewBox={s"0 0 $Width $Height"} width={
        Shown.toString
      } style="max-width: 100%; height: auto" role="img" aria-label={
        summary
      }>
          {grid}{lines.map(draw)}{failures.map(mark)}
        </svg>
      </figure>

  private def summary: String = lines.map { line =>
    val values = line.points.map(_._2)
    if (values.isEmpty) s"${line.name}: nothing yet"
    else s"${line.name}: ${show(values.min)} to ${show(values.max)}, last ${show(values.last)}"
  }.mkString(s"$title. ", "; ", if (failures.isEmpty) "." else s"; ${failures.size} failed.")

  private def legend: NodeSeq = {
    val entries = lines.map(line => line.name -> line.color) ++ (if (failures.isEmpty) Nil else Seq("failed" -> Failed))
    if (entries.size < 2) NodeSeq.Empty
    else entries.map { case (name, color) =>
      <span class="ms-3"><span aria-hidden="true" style={s"color: var($color)"}>{"\u25cf"}</span> {name}</span>
    }
  }

  private def grid: NodeSeq = {
    val levels = (0 to Steps).map { i =>
      val y = coordinate(Bottom - (Bottom - Top) * i.toDouble / Steps)
      <line x1={Left.toString} x2={Right.toString} y1={y} y2={y} stroke="var(--bs-border-color)"/> ++
        <text x={(Left - 6).toString} y={
          y
        } text-anchor="end" dominant-baseline="middle" font-size="11" fill="var(--bs-secondary-color)">{
          show(top * i / Steps)
        }</text>
    }
    val moments = (0 to Steps).map { i =>
      val ms = from + (to - from) * i / Steps
      val anchor = if (i == 0) "start" else if (i == Steps) "end" else "middle"
      <text x={x(ms)} y={(Bottom + 16).toString} text-anchor={anchor} font-size="11" fill="var(--bs-secondary-color)">{
        Display.axisTime(ms, to - from)
      }</text>
    }
    levels.flatten ++ moments
  }

  private def draw(line: Line): NodeSeq = {
    val points = thinned(line.points)
    val dots =
      if (points.size > MostDots) NodeSeq.Empty
      else
        points.map { case (ms, value) =>
          <circle cx={x(ms)} cy={y(value)} r="2.5" fill={s"var(${line.color})"}><title>{
            s"${line.name} ${show(value)}, ${Display.time(ms)}"
          }</title></circle>
        }
    val path = points.map { case (ms, value) => s"${x(ms)},${y(value)}" }.mkString(" ")
    <polyline points={path} fill="none" stroke={s"var(${line.color})"} stroke-width="1.5"/> ++ dots
  }

  private def mark(ms: Long): Node =
    <circle cx={x(ms)} cy={Bottom.toString} r="3.5" fill={s"var($Failed)"}><title>{
      s"failed, ${Display.time(ms)}"
    }</title></circle>

  private def x(ms: Long): String = coordinate(Left + (Right - Left) * (ms - from).toDouble / (to - from))
  private def y(value: Long): String = coordinate(Bottom - (Bottom - Top) * value.toDouble / top)
}

private[ui] object Plot {

  /** Two beside each other on a small screen. */
  private val Shown = 590
  private val Width = 620
  private val Height = 200
  private val Left = 76
  private val Right = 604
  private val Top = 12
  private val Bottom = 170
  private val Steps = 4
  private val MostDots = 120
  private val Failed = "--bs-danger"

  /** As many as there are columns of pixels to tell apart. */
  private val MostPoints = 400

  private def coordinate(value: Double): String = "%.1f".formatLocal(Locale.US, value)

  /** One point a stretch, with its greatest value: one slow checkpoint must not be smoothed away. */
  private[ui] def thinned(points: IndexedSeq[(Long, Long)]): IndexedSeq[(Long, Long)] =
    if (points.size <= MostPoints) points
    else (0 until MostPoints).map { i =>
      points.slice(i * points.size / MostPoints, (i + 1) * points.size / MostPoints).maxBy(_._2)
    }

  /** The least of 4, 8, 20, 40, 80, 200 … that is no smaller: a quarter of it is round too. */
  def roundNumber(value: Long): Long =
    Iterator.iterate(4L)(_ * 10).flatMap(n => Seq(n, n * 2, n * 5)).dropWhile(_ < value).next()

  def roundBytes(value: Long): Long = {
    val unit = if (value < 1024) 0 else (63 - java.lang.Long.numberOfLeadingZeros(value)) / 10 * 10
    roundNumber((value >> unit) + 1) << unit
  }
}

/** How duration and sizes went over time. */
private[ui] object CheckpointPlots {

  /** @param newestFirst
    *   all that is known of a query
    */
  def render(newestFirst: IndexedSeq[CheckpointRecord]): NodeSeq = {
    val checkpoints = newestFirst.reverse
    val completed = checkpoints.filter(_.hasCompleted)
    val failures = checkpoints.filter(_.failed.isDefined).map(_.triggeredMs).takeRight(MostFailures)
    def line(name: String, color: String, value: CheckpointRecord => Long): Line =
      Line(name, color, completed.map(c => c.triggeredMs -> value(c)))
    val duration = Seq(line("end to end", "--bs-primary", _.duration))
    val sizes = Seq(line("full", "--bs-primary", _.stateSize), line("checkpointed", "--bs-success", _.checkpointedSize))
    <div>
      {new Plot("Duration", duration, failures, Display.duration, Plot.roundNumber).render}
      {new Plot("Size", sizes, failures, Display.bytes, Plot.roundBytes).render}
    </div>
  }

  private val MostFailures = 200
}
