package io.snapline.spark.sink

import org.apache.spark.sql.catalyst.InternalRow

/** A system with transactions, as a sink writes to it. The driver sends a copy to each task. */
private[sink] trait SinkTarget extends Serializable {

  /** The system's name, and that of the topic or table, for errors. */
  def description: String

  /** Whether the rows of a batch are kept by a task, as far as they fit, to write them again after a lost connection.
    */
  def keepsRows: Boolean

  /** Milliseconds before a transaction is begun again; each further time takes twice as long. */
  def retryMillis: Long = 100

  /** Whether the system may take the same transaction a moment later. */
  def isTransient(failure: Throwable): Boolean

  /** Makes the place of the markers if it is not there, and reads those of a sink. On the driver, before its first
    * batch of a run. Tasks of a run before may write until `open` fences them.
    */
  def begin(sink: SinkId): KnownMarkers

  /** All that tells two targets of a sink apart. */
  def layout: Any

  /** On the driver, before this object goes to the first task: looks at the place of the rows, and makes it if that is
    * the sink's to do.
    */
  def prepare(): Unit

  /** Makes markers of this batch and later ones those of the batch before. On the driver, while no task writes. */
  def forget(sink: SinkId, batch: Long, known: KnownMarkers): Unit

  /** On an executor, at the first row of a partition. Transactions that other attempts hold open are fenced first, and
    * then the marker is read.
    */
  def open(batch: SinkBatch, partition: Int): SinkTransaction
}

/** One partition's rows of one batch. Owned by the task; `close` ends it in every case. */
private[sink] trait SinkTransaction extends AutoCloseable {

  /** The partition's marker, which no other attempt can change from here on without failing this one. */
  def last: Option[Marker]

  /** The row is the caller's again afterwards. */
  def write(row: InternalRow): Unit

  /** Rows and marker, or neither. Throws if that cannot be known.
    *
    * @return
    *   None: markers have no log
    */
  def commit(marker: Marker): Option[MarkerPlace]
}

/** The number of a log of markers, and the position of a marker in it. */
private[sink] final case class MarkerPlace(log: Int, position: Long)

/** The markers of a sink that the driver knows of.
  *
  * @param markers
  *   by partition; none for a partition that never had a row
  * @param positions
  *   by number of a log of markers, the position up to which all of them are among these; empty where a marker is read
  *   by its key
  */
private[sink] final case class KnownMarkers(markers: Map[Int, Marker], positions: Map[Int, Long]) {

  /** After a micro-batch, all of whose tasks have ended. One that was not reported cannot lie before those that were:
    * none of this micro-batch is left.
    */
  def after(written: Seq[Written]): KnownMarkers = KnownMarkers(
    markers ++ written.flatMap(message => message.marker.map(message.partition -> _)),
    written.flatMap(_.place).foldLeft(positions) { (all, place) =>
      all.updated(place.log, math.max(all.getOrElse(place.log, 0L), place.position + 1))
    }
  )
}
