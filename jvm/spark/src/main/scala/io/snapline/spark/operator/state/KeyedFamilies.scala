package io.snapline.spark.operator.state

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

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
