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
  private var operator: Option[OperatorStates] = None
  private var closed = false

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => close()))

  /** Starts no worker where there is nothing to do. */
  def open(
      rows: Iterator[InternalRow],
      broadcast: BroadcastRows,
      late: LateRule,
      lateOutput: mutable.Queue[InternalRow]
  )(startLink: () => WorkerLink): KeyedRows =
    if (!rows.hasNext && broadcast.isEmpty && !timersAreDue && !isFirst) NoRows
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
      val states = new OperatorStates(setup.spec.operatorStates, access)
      operator = Some(states)
      val chunks = new ChunkFeed(setup, rows, access, exchanges, late)
      val feed =
        if (setup.spec.operatorStates.isEmpty && broadcast.schema.isEmpty) chunks
        else
          new OperatorFeed(
            states,
            broadcast.rows.iterator,
            broadcast.schema,
            access,
            setup.limits.chunkRows,
            chunks
          )
      task = new KeyedTask(
        setup,
        startLink(),
        feed,
        exchanges,
        timers,
        access,
        states,
        lateOutput,
        store.id.partitionId,
        if (setup.streaming) setup.partitions else TaskContext.get().numPartitions()
      )
      task
    }

  /** The function has never run here: it does in the first micro-batch of the operator, in every partition. */
  private def isFirst: Boolean = setup.spec.operatorStates.nonEmpty && !OperatorMark.isIn(store)

  private def timersAreDue: Boolean = setup.spec.keyed && someTimerIsDue

  private def someTimerIsDue: Boolean =
    timers.earliest(Timers.EventTime).exists(time => setup.watermark.exists(time <= _)) ||
      timers.earliest(Timers.ProcessingTime).exists(_ <= setup.dueProcessingTime)

  /** Of the broadcast states, by name, once the worker has ended. */
  def entrySums: Seq[(String, EntrySum)] = operator.fold(Seq.empty[(String, EntrySum)])(_.entrySums)

  /** Removes what has expired by now; after the timers, so that they still see it. */
  def cleanUp(): Unit = if (setup.streaming) {
    if (isFirst) OperatorMark.put(store, setup.partitions)
    setup.spec.states.filter(_.ttl).foreach { state =>
      val now = if (state.eventTimeTtl) setup.watermark else Some(setup.batchTime)
      now.foreach(new TtlIndex(state, state.storedKey(setup.key), store, counts).cleanUp)
    }
  }

  def nextProcessingTimer: Option[Long] =
    if (setup.spec.keyed) timers.earliest(Timers.ProcessingTime) else None

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
