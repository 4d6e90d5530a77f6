package io.snapline.spark.savepoint

import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorsUtils._
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateVariableType
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateVariableType.StateVariableType
import org.apache.spark.sql.types.StructType

import io.snapline.spark.operator.state.{OperatorMark, OperatorStateSpec, StateMigration}

/** By which columns of its key each state of an operator is spread: Spark tells nobody, so this follows its state
  * managers (`StatePartitionKeyExtractorFactory`). What it says is checked against every key that is read.
  */
private[savepoint] final class Placements(
    operator: String,
    joinFormat: Int,
    variables: Map[String, StateVariableType]
) {
  import Placement._

  def of(store: String, family: String, key: StructType): Placement = operator match {
    case STATE_STORE_SAVE_EXEC_OP_NAME | DEDUPLICATE_EXEC_OP_NAME | DEDUPLICATE_WITHIN_WATERMARK_EXEC_OP_NAME =>
      byColumns(key)
    // The last column is the beginning of the session.
    case SESSION_WINDOW_STATE_STORE_SAVE_EXEC_OP_NAME => byColumns(key, dropped = 1)
    case SYMMETRIC_HASH_JOIN_EXEC_OP_NAME => ofJoin(if (joinFormat >= 3) family else store, key)
    case name if FLAT_MAP_GROUPS_OP_NAMES.contains(name) => byColumns(key)
    case name if TRANSFORM_WITH_STATE_OP_NAMES.contains(name) => ofVariable(family, key)
    case Placements.GlobalLimit => First
    case other => Fixed(s"by what $other spreads its keys is not known")
  }

  private def ofJoin(name: String, key: StructType): Placement =
    // The last column numbers the rows of a key.
    if (name.endsWith("keyWithIndexToValue")) byColumns(key, dropped = 1)
    else byColumns(key)

  private def ofVariable(family: String, key: StructType): Placement = family match {
    case StateMigration.Family | OperatorMark.Family => Every
    case state if state.startsWith(OperatorStateSpec.BroadcastPrefix) => Every
    case state if state.startsWith(OperatorStateSpec.UnionPrefix) => Dealt(union = true)
    case state if state.startsWith(OperatorStateSpec.SplitPrefix) => Dealt(union = false)
    case OperatorStateSpec.RawFamily => Dealt(union = false)
    case Placements.ByTime(_) => byStruct(key, 1)
    case Placements.ByKey(_) => byStruct(key, 0)
    case Placements.Ttl(state) if variables.get(state).contains(StateVariableType.MapState) => byStruct(key, 1, 0)
    case Placements.Ttl(_) => byStruct(key, 1)
    case state if variables.get(state).contains(StateVariableType.MapState) => byStruct(key, 0)
    case _ => byColumns(key)
  }
}

private object Placements {
  val GlobalLimit = "globalLimit"
  private val ByTime = """\$(event|proc)Timers_timestampToKey""".r
  private val ByKey = """\$(event|proc)Timers_keyToTimestamp""".r
  private val Ttl = """\$ttl_(.+)""".r
}
