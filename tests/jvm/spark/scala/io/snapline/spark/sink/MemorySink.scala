package io.snapline.spark.sink

import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow

/** A system with transactions in memory: a newer transaction of a partition fences the one before.
  *
  * @param fails
  *   asked before each step whether it fails, and after a commit whether its answer is lost
  */
private[sink] final class MemorySink(override val keepsRows: Boolean, fails: String => Boolean) extends SinkTarget {
  val rows = ArrayBuffer.empty[(Long, Int, Long)]
  val markers = TrieMap.empty[Int, Marker]
  private val epochs = TrieMap.empty[Int, AtomicLong]
  var forgotten = Option.empty[Long]
  var prepared = 0

  override def description: String = "memory"
  override def isTransient(failure: Throwable): Boolean = failure.isInstanceOf[MemorySink.Lost]
  override def retryMillis: Long = 0
  override def layout: Any = this
  override def prepare(): Unit = prepared += 1
  override def begin(sink: SinkId): KnownMarkers = KnownMarkers(markers.toMap, Map.empty)

  override def forget(sink: SinkId, batch: Long, known: KnownMarkers): Unit = {
    forgotten = Some(batch)
    known.markers.foreach { case (partition, marker) => markers(partition) = marker.copy(batch = batch - 1) }
  }

  private def step(name: String): Unit = if (fails(name)) throw new MemorySink.Lost(name)

  override def open(batch: SinkBatch, partition: Int): SinkTransaction = {
    step("open")
    val epochOf = epochs.getOrElseUpdate(partition, new AtomicLong)
    val epoch = epochOf.incrementAndGet()
    new SinkTransaction {
      private val open = ArrayBuffer.empty[(Long, Int, Long)]
      override val last: Option[Marker] = markers.get(partition)

      override def write(row: InternalRow): Unit = {
        step("write")
        open += ((batch.number, partition, row.getLong(0)))
      }

      override def commit(marker: Marker): Option[MarkerPlace] = {
        step("commit")
        if (epochOf.get != epoch) throw new IllegalStateException("fenced")
        rows ++= open
        markers(partition) = marker
        step("answer")
        None
      }

      override def close(): Unit = ()
    }
  }
}

private[sink] object MemorySink {
  final class Lost(step: String) extends RuntimeException(s"lost at $step")
}
