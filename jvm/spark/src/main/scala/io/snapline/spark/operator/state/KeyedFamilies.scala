package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{IntegerType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.snapline.spark.provider.SnaplineStateStore

/** The column families of a keyed function, in the layout of Spark's transformWithState. */
final case class KeyedFamily(
    name: String,
    keySchema: StructType,
    valueSchema: StructType,
    encoder: KeyStateEncoderSpec,
    lists: Boolean,
    userKey: Option[StructType]
) {
  def internal: Boolean = name.startsWith("$")

  def createIn(store: StateStore): Unit =
    store.createColFamilyIfAbsent(name, keySchema, valueSchema, encoder, lists, internal)

  def schema: StateStoreColFamilySchema =
    StateStoreColFamilySchema(name, 0, keySchema, 0, valueSchema, Some(encoder), userKey)
}

object KeyedFamilies {

  def of(spec: KeyedSpec, key: StructType): Seq[KeyedFamily] =
    spec.states.flatMap(ofState(_, key)) ++ (if (spec.keyed) timers(key) else Nil) ++ ofOperator(spec)

  /** Removes a state that no function asks for any more, and the index of its time to live. A store of Spark's keeps
    * the index: it lets nobody remove that.
    */
  def remove(name: String, store: StateStore): Unit = {
    store.removeColFamilyIfExists(name): Unit
    store match {
      case own: SnaplineStateStore => own.removeFamily(TtlIndex.family(name)): Unit
      case _ => ()
    }
  }

  private def timers(key: StructType): Seq[KeyedFamily] = Timers.names.map { name =>
    val stored = Timers.storedKey(key)
    KeyedFamily(name, stored, Timers.valueSchema, RangeKeyScanStateEncoderSpec(stored, Seq(0)), false, None)
  }

  /** A function without keys has the mark whatever it keeps: a store has to have a family. */
  private def ofOperator(spec: KeyedSpec): Seq[KeyedFamily] =
    if (spec.keyed && spec.operatorStates.isEmpty) Nil
    else OperatorMark.columnFamily +: spec.operatorStates.map(_.columnFamily)

  private def ofState(state: StateSpec, key: StructType): Seq[KeyedFamily] = {
    val stored = state.storedKey(key)
    val encoder =
      if (state.kind == StateSpec.MapKind) PrefixKeyScanStateEncoderSpec(stored, 1)
      else NoPrefixKeyStateEncoderSpec(stored)
    val main = KeyedFamily(
      state.name,
      stored,
      state.storedValue,
      encoder,
      state.kind == StateSpec.ListKind,
      state.userKey.map(StateSpec.wrapped)
    )
    if (state.ttl) Seq(main, ttlIndex(state, stored)) else Seq(main)
  }

  private def ttlIndex(state: StateSpec, stored: StructType): KeyedFamily = {
    val indexKey = TtlIndex.keySchema(stored)
    KeyedFamily(
      TtlIndex.family(state.name),
      indexKey,
      TtlIndex.valueSchema,
      RangeKeyScanStateEncoderSpec(indexKey, Seq(0)),
      lists = false,
      None
    )
  }
}

/** The mark of a partition whose function has run: from then on its operator state is one that is gone on with. */
object OperatorMark {
  val Family = "$operator"
  private val key = new StructType().add("state", StringType)
  private val value = new StructType().add("parallelism", IntegerType)

  val columnFamily: KeyedFamily =
    KeyedFamily(Family, key, value, NoPrefixKeyStateEncoderSpec(key), lists = false, None)

  def isIn(store: StateStore): Boolean = store.get(restored, Family) != null

  def put(store: StateStore, parallelism: Int): Unit =
    store.put(restored, UnsafeProjection.create(value).apply(InternalRow(parallelism)), Family)

  private lazy val restored: UnsafeRow =
    UnsafeProjection.create(key).apply(InternalRow(UTF8String.fromString("restored")))
}
