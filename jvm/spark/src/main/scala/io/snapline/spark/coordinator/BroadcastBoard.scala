package io.snapline.spark.coordinator

import java.util.{LinkedHashMap, Map => JavaMap}

import scala.collection.mutable

import io.snapline.spark.protocol.BroadcastReport

/** On the driver: compares what the partitions of an operator report of one micro-batch. Any thread. */
private[spark] final class BroadcastBoard {
  import BroadcastBoard._

  // The newest micro-batch of each operator; runs that have ended are pushed out by others.
  private val batches = new LinkedHashMap[(String, Long), Batch](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[(String, Long), Batch]): Boolean = size > Kept
  }

  /** The difference to the partitions that reported before, as a text; empty if there is none. A partition that reports
    * again replaces its first report.
    */
  def take(report: BroadcastReport): String = synchronized {
    val of = (report.run, report.operator)
    val batch = Option(batches.get(of)).filter(_.version == report.version).getOrElse {
      val begun = new Batch(report.version)
      batches.put(of, begun)
      begun
    }
    batch.reports(report.partition) = report.sums
    val differing = report.sums.indices.filter(i => batch.reports.values.exists(_.lift(i) != Some(report.sums(i))))
    differing.map(i => describe(batch, i)).mkString("; ")
  }

  private def describe(batch: Batch, state: Int): String = {
    val of = batch.reports.toSeq.flatMap { case (partition, sums) => sums.lift(state).map((partition, _)) }
    val name = of.head._2._1
    val groups = of
      .groupBy { case (_, (_, entries, hash)) => (entries, hash) }.toSeq
      .map { case (sum, partitions) => (sum, partitions.map(_._1).sorted) }
      .sortBy(_._2.head)
    val texts = groups.map { case ((entries, hash), partitions) =>
      f"${partitions.mkString(", ")}: $entries entries, checksum $hash%016x"
    }
    s"'$name' (partition ${texts.mkString("; partition ")})"
  }
}

private object BroadcastBoard {
  val Kept = 1000

  final class Batch(val version: Long) {
    val reports = mutable.Map.empty[Int, Seq[(String, Long, Long)]]
  }
}
