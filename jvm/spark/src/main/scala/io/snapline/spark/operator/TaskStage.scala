package io.snapline.spark.operator

import scala.collection.mutable

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types.StructType

/** What a task hands on, and what it counted. */
trait KeyedRows extends Iterator[InternalRow] {
  def epochs: Long
  def metrics: Map[String, Long]
}

/** Puts the parts of one task together. Owns the Arrow memory until `close`, which the end of the task calls if nothing else has. */
final class TaskStage(
    setup: TaskSetup,
    store: StateStore,
    counts: ChangeCounts,
    schemaOf: StructType => Schema,
    allocator: BufferAllocator
) extends AutoCloseable {
  private val timers = new Timers(setup.key, store, counts)
  private var task: KeyedTask = _
  private var closed = false

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => close()))

  /** Starts no worker where there is nothing to do. */
  def open(rows: Iterator[InternalRow], late: LateRule, lateOutput: mutable.Queue[InternalRow])(
      startLink: () => WorkerLink
  ): KeyedRows =
    if (!rows.hasNext && !timersAreDue) NoRows
    else {
      val access = new StateAccess(
        store,
        setup.key,
        new EpochKeys,
        allocator,
        schemaOf,
        setup.limits.maxPrefetch,
        counts
      )
      val exchanges = setup.spec.states.zipWithIndex.map { case (state, i) => StateExchange.of(i, state, access) }
      val feed = new ChunkFeed(setup, rows, access, exchanges, late)
      val context = TaskContext.get()
      task = new KeyedTask(
        setup,
        startLink(),
        feed,
        exchanges,
        timers,
        access,
        lateOutput,
        context.partitionId(),
        context.numPartitions()
      )
      task
    }

  private def timersAreDue: Boolean =
    timers.earliest(Timers.EventTime).exists(time => setup.watermark.exists(time <= _)) ||
      timers.earliest(Timers.ProcessingTime).exists(_ <= setup.dueProcessingTime)

  /** Removes what has expired by now; after the timers, so that they still see it. */
  def cleanUp(): Unit = if (setup.streaming) {
    setup.spec.states.filter(_.ttl).foreach { state =>
      val now = if (state.eventTimeTtl) setup.watermark else Some(setup.batchTime)
      now.foreach(new TtlIndex(state, state.storedKey(setup.key), store, counts).cleanUp)
    }
  }

  def nextProcessingTimer: Option[Long] = timers.earliest(Timers.ProcessingTime)

  override def close(): Unit = if (!closed) {
    closed = true
    if (task != null) task.close()
    allocator.close()
  }
}

private object NoRows extends KeyedRows {
  override def epochs: Long = 0
  override def metrics: Map[String, Long] = Map.empty
  override def hasNext: Boolean = false
  override def next(): InternalRow = throw new NoSuchElementException
}
