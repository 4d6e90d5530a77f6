package io.snapline.spark.operator.task

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal, UnsafeProjection}
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}
import org.json4s.JsonAST._

import io.snapline.spark.operator.state.{KeyedFamilies, KeyedFamily, KeyedSpec, SchemaHistory}
import io.snapline.spark.settings.WorkerLimits
import org.apache.spark.sql.execution.streaming.state.snapline.GroupingKeys

/** Everything that the driver tells each task of a keyed operator.
  *
  * @param keyOrdinals
  *   positions of the key's columns among the input's
  * @param watermark
  *   ms; None without one, Long.MaxValue at the end of bounded input. It comes after the rows: timers fire up to it
  * @param eventTime
  *   the input column that carries the watermark
  * @param histories
  *   the schemas of states that have changed in the life of the checkpoint
  * @param partitions
  *   the operator's number of partitions; for a bounded table the task knows it
  * @param rowsWatermark
  *   ms; the one that came before the rows, up to which the micro-batch before has fired timers. None without one
  * @param firesTimers
  *   whether timers that are due fire after the rows; they do not after the rows of an initial state
  * @param live
  *   whether rows come one by one while the micro-batch lasts (docs/notes/021-real-time.md)
  * @param runningBatch
  *   the micro-batch that works off rows of `batchId` that waited; None: they are its own
  */
final case class TaskSetup(
    spec: KeyedSpec,
    input: Seq[Attribute],
    keyOrdinals: Seq[Int],
    output: StructType,
    batchId: Long,
    batchTime: Long,
    watermark: Option[Long],
    eventTime: Option[Int],
    timeZone: String,
    streaming: Boolean,
    limits: WorkerLimits,
    histories: Seq[SchemaHistory],
    partitions: Int = 1,
    rowsWatermark: Option[Long] = None,
    firesTimers: Boolean = true,
    live: Boolean = false,
    runningBatch: Option[Long] = None
) {
  val key: StructType = if (spec.keyed) fields(keyOrdinals.map(input)) else TaskSetup.subtask

  /** The key of a row; without keys all rows of a partition have one. */
  def keyOf(partition: Int): UnsafeProjection =
    if (spec.keyed) UnsafeProjection.create(keyOrdinals.map(at => GroupingKeys.of(input(at))), input)
    else UnsafeProjection.create(Seq[Expression](Literal(partition)))

  private def fields(attributes: Seq[Attribute]): StructType =
    StructType(attributes.map(a => StructField(a.name, a.dataType, a.nullable)))

  /** Timers in processing time are due up to here; all of them at the end of bounded input. */
  def dueProcessingTime: Long =
    if (live) System.currentTimeMillis() else if (streaming) batchTime else Long.MaxValue

  def inputSchema: StructType = fields(input)

  private def runs: Long = runningBatch.getOrElse(batchId)

  def families: Seq[KeyedFamily] = KeyedFamilies.of(spec, key)

  /** The meta of SETUP.
    *
    * @param timeLeftMs
    *   for the rows; None: as long as they take
    */
  def describe(place: TaskPlace, timeLeftMs: Option[Long]): JObject = JObject(
    "protocol" -> JInt(1),
    "mode" -> JString(spec.mode),
    "batch_id" -> JInt(batchId),
    "running_batch_id" -> JInt(runs),
    "query_id" -> TaskSetup.query.fold[JValue](JNull)(JString(_)),
    "batch_time_ms" -> JInt(batchTime),
    "watermark_ms" -> watermark.fold[JValue](JNull)(JInt(_)),
    "rows_watermark_ms" -> rowsWatermark.fold[JValue](JNull)(JInt(_)),
    "partition" -> JInt(place.partition),
    "partitions" -> JInt(place.partitions),
    "time_zone" -> JString(timeZone),
    "streaming" -> JBool(streaming),
    "event_time_column" -> eventTime.fold[JValue](JNull)(JInt(_)),
    "max_prefetch" -> JInt(limits.maxPrefetch),
    "chunk_bytes" -> JInt(limits.chunkBytes),
    "time_left_ms" -> timeLeftMs.fold[JValue](JNull)(JInt(_))
  )
}

object TaskSetup {

  /** The id of the query that the task is of, by Spark's local property. None: of a bounded DataFrame. */
  private def query: Option[String] =
    Option(TaskContext.get()).flatMap(task => Option(task.getLocalProperty("sql.streaming.queryId")))

  /** In the place of a key where there is none: the number of the partition. */
  val subtask: StructType = new StructType().add("subtask", IntegerType, nullable = false)
}
