package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.snapline.spark.operator.frames.{ByteBudget, FrameBuilder}
import io.snapline.spark.settings.WorkerLimits

/** Carries one state between the store and the worker. One task's, on its thread. */
abstract class StateSync(val index: Int, val spec: StateSpec) {

  /** The columns sent to the worker and back, as in docs/notes/003-keyed-process.md. */
  def sent: StructType
  def changed: StructType

  /** Whether the state travels with what begins now. */
  protected final def travels(access: StateAccess): Boolean =
    if (access.atTimers) spec.prefetchForTimers else spec.prefetch

  /** Reads the state of what a chunk begins, as far as the budget goes, and always that of one. Gives the row before
    * which everything is there: `rows`, if nothing was left out.
    */
  def lookUp(begun: NewKeys, rows: Int, budget: ByteBudget): Int

  /** Adds what was read to the frame, but not what was left out since: `rows` may be fewer by now. */
  def send(begun: NewKeys, rows: Int, frame: FrameBuilder): Unit

  /** Adds the schemas of what is sent to SETUP. */
  def describe(frame: FrameBuilder): Unit

  /** Applies one part of changes to the store. */
  def change(batch: ColumnarBatch): Unit

  /** Answers a request for entries that were not sent ahead; how many of them it has looked up. */
  def fetchEntries(slot: Int, wanted: ColumnarBatch, frame: FrameBuilder): Int

  /** The next page of a list or map; true if there is more. */
  def fetchPage(request: Long, slot: Int, frame: FrameBuilder): Boolean

  def closeRequest(request: Long): Unit = ()

  /** The epoch is over: what belonged to its slots is forgotten. */
  def endEpoch(): Unit = ()

  def close(): Unit

  /** Checks the size of a value, an element or an entry, in bytes. */
  protected final def sized(bytes: Int): Int =
    if (bytes > WorkerLimits.MostBytes) throw WorkerLimits.tooLarge(s"a value of state ${spec.name}", bytes.toLong)
    else bytes

  protected final val valueField: StructField = StructField("v", spec.valueType, nullable = true)
  protected final val expiryField: StructField = StructField("x", LongType, nullable = true)
  protected final val createdField: StructField = StructField("c", BooleanType, nullable = true)
  protected final val slotField: StructField = StructField("slot", IntegerType, nullable = false)
  protected final val opField: StructField = StructField("op", ByteType, nullable = false)

  protected final def expiry: Seq[StructField] = if (spec.ttl) Seq(expiryField) else Nil
  protected final def expiryAndCreated: Seq[StructField] = if (spec.ttl) Seq(expiryField, createdField) else Nil

  /** From a part's row, whose value (and expiry behind it) stands at `at`, to the row the store keeps. */
  protected final def storedValue(at: Int): UnsafeProjection = {
    val value = BoundReference(at, spec.valueType, nullable = true)
    val fields: Seq[Expression] = spec.valueType match {
      case struct: StructType => struct.fields.toSeq.indices.map(i => GetStructField(value, i))
      case _ => Seq(value)
    }
    if (spec.ttl) {
      val named = fields.zip(spec.valueStruct.fieldNames.toSeq).flatMap { case (e, name) => Seq(Literal(name), e) }
      UnsafeProjection.create(Seq(CreateNamedStruct(named), BoundReference(at + 1, LongType, nullable = true)))
    } else UnsafeProjection.create(fields)
  }

  /** Puts the value of a stored row, and its expiry, into `target` from `at` on; null for a row that is not there. */
  protected final def setValue(target: GenericInternalRow, at: Int, stored: InternalRow): Unit =
    if (stored == null) {
      target.update(at, null)
      if (spec.ttl) target.update(at + 1, null)
    } else if (spec.ttl) {
      target.update(at, valueOf(stored.getStruct(0, spec.valueStruct.length)))
      target.update(at + 1, stored.getLong(1))
    } else target.update(at, valueOf(stored))

  private val isStruct = spec.valueType.isInstanceOf[StructType]

  private def valueOf(row: InternalRow): Any = if (isStruct) row else row.get(0, spec.valueType)
}

object StateSync {
  val PageRows = 10000

  def of(index: Int, spec: StateSpec, access: StateAccess): StateSync = spec.kind match {
    case StateSpec.ListKind => new ListSync(index, spec, access)
    case StateSpec.MapKind => new MapSync(index, spec, access)
    case _ => new ValueSync(index, spec, access)
  }
}
