package io.snapline.spark.sink

import scala.collection.concurrent.TrieMap

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.snapline.error.{IncompatibleState, InvalidConfiguration}

/** The driver's side of a sink while a query runs: markers after each batch. Batches come one after the other. */
private[sink] final class SinkRun(sink: SinkId, val run: String, options: SinkOptions) {
  private var known: KnownMarkers = _
  private var target: SinkTarget = _
  private var done = -1L
  private var skipped = 0L
  private var written = 0L

  /** Before its tasks start. */
  def begin(to: SinkTarget, number: Long, partitions: Int): SinkBatch = synchronized {
    if (number <= done) throw new InvalidConfiguration(
      s"Batch $number is written a second time as sink ${sink.name} in one run of the query.",
      s"give each sink of foreachBatch a name of its own (option ${SinkOptions.Name})."
    )
    if (target == null || target.layout != to.layout) {
      to.prepare()
      target = to
    }
    if (known == null) known = settled(number, partitions)
    SinkBatch(target, sink, run, number, partitions, known, options.warnsOfDifference)
  }

  /** The sink's markers. Refuses a sink that has rows for which the checkpoint folder does not account. */
  private def settled(number: Long, partitions: Int): KnownMarkers = {
    val found = target.begin(sink)
    val ahead = found.markers.filter { case (_, marker) => marker.batch > number }
    val torn = found.markers.filter { case (_, marker) => marker.batch == number && marker.partitions != partitions }
    if (ahead.isEmpty && torn.isEmpty) found
    else if (options.rewrite.contains(number)) {
      val again = found.markers.filter { case (_, marker) => marker.batch >= number }
      target.forget(sink, number, found.copy(markers = again))
      val before = again.map { case (partition, marker) => partition -> marker.copy(batch = number - 1) }
      KnownMarkers(found.markers ++ before, found.positions)
    } else if (ahead.nonEmpty) throw new IncompatibleState(
      s"${target.description} has rows of batch ${ahead.values.map(_.batch).max} of sink $sink, and the checkpoint " +
        s"folder goes on with batch $number: it is older than the sink.",
      s"put the newest state of the checkpoint folder back; or set the option ${SinkOptions.Rewrite} to $number, and " +
        s"rows of batch $number and later ones may come twice."
    )
    else throw new IncompatibleState(
      s"${torn.size} partitions of batch $number of sink $sink are in ${target.description}; the batch had " +
        s"${torn.values.head.partitions} partitions, and has $partitions now.",
      "set back what splits a batch (cores, spark.sql.shuffle.partitions, spark.sql.files.*); or set the option " +
        s"${SinkOptions.Rewrite} to $number, and rows of batch $number may come twice."
    )
  }

  /** All its tasks have ended. */
  def commit(number: Long, messages: Array[WriterCommitMessage]): Unit = synchronized {
    done = number
    val all = messages.collect { case message: Written => message }
    written += all.filterNot(_.skipped).flatMap(_.marker).map(_.rows).sum
    skipped += all.filter(_.skipped).flatMap(_.marker).map(_.rows).sum
    known = known.after(all.toSeq)
  }

  /** For Spark's progress of the query. */
  def metrics: Map[String, String] = synchronized {
    Map(
      "sink" -> sink.name,
      "batch" -> done.toString,
      "partitions" -> Option(known).fold(0)(_.markers.size).toString,
      "rowsWritten" -> written.toString,
      "rowsSkipped" -> skipped.toString
    )
  }
}

/** The runs of all queries of this driver. A sink has one at a time. */
private[sink] object SinkRun {
  private val runs = TrieMap.empty[SinkId, SinkRun]

  def of(sink: SinkId, run: String, options: SinkOptions): SinkRun = runs.synchronized {
    runs.get(sink).filter(_.run == run).getOrElse {
      val made = new SinkRun(sink, run, options)
      runs.put(sink, made)
      made
    }
  }
}
