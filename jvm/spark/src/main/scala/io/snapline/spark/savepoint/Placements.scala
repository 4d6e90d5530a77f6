package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorsUtils._
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateVariableType
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateVariableType._
import org.apache.spark.sql.types.{DataType, StructType}

import io.snapline.error.IncompatibleState
import io.snapline.spark.operator.state.{OperatorMark, OperatorStateSpec, StateMigration}

/** Finds the columns of its key by which each state of an operator is spread. Spark tells nobody, so this follows its
  * state managers (`StatePartitionKeyExtractorFactory`). Its answer is checked against every key that is read.
  */
private[savepoint] final class Placements(
    operator: String,
    joinFormat: Int,
    variables: Map[String, StateVariableType]
) {
  import Placement._

  def of(store: String, family: String, key: StructType): Placement = operator match {
    case "stateStoreSave" | "dedupe" | "dedupeWithinWatermark" => byColumns(key)
    // The last column is the beginning of the session.
    case "sessionWindowStateStoreSaveExec" => byColumns(key, dropped = 1)
    case SYMMETRIC_HASH_JOIN_EXEC_OP_NAME => ofJoin(if (joinFormat >= 3) family else store, key)
    case "flatMapGroupsWithState" | "applyInPandasWithState" => byColumns(key)
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

/** The partition that each entry of one state belongs to, for any number of partitions. */
sealed trait Placement

object Placement {

  /** Where Spark's hash of these columns of the key says; a path of field numbers leads to each. */
  final case class Hashed(paths: Seq[Seq[Int]]) extends Placement

  /** There is no key to spread by: everything is in partition 0, whatever the parallelism. */
  case object First extends Placement

  /** Every partition has the same entries, which describe its store. */
  case object Every extends Placement

  /** The key is a position in a list of the partition. Elements are dealt out evenly, in order, if the parallelism
    * changes; or every partition gets all.
    */
  final case class Dealt(union: Boolean) extends Placement

  /** Nobody knows, so the entries stay where they are, and their number of partitions with them. */
  final case class Fixed(why: String) extends Placement

  /** By all columns of a key, but for the last few. */
  def byColumns(key: StructType, dropped: Int = 0): Placement = hashed((0 until key.length - dropped).map(Seq(_)))

  /** By the columns of a struct within the key. */
  def byStruct(key: StructType, path: Int*): Placement = {
    val struct = path.foldLeft[DataType](key)((within, i) => within.asInstanceOf[StructType].fields(i).dataType)
    struct match {
      case struct: StructType => hashed(struct.indices.map(path :+ _))
      case _ => hashed(Seq(path))
    }
  }

  private def hashed(paths: Seq[Seq[Int]]): Placement = if (paths.isEmpty) First else Hashed(paths)

  /** The expression that a path leads to, in a row of the key. */
  def column(key: StructType, path: Seq[Int]): Expression = {
    val field = key.fields(path.head)
    path.tail.foldLeft[Expression](BoundReference(path.head, field.dataType, field.nullable))(GetStructField(_, _))
  }
}

/** Says of entries that somebody made where they belong. One thread.
  *
  * @param entry
  *   their columns: key and value
  */
private[savepoint] final class PlacedEntries(
    operator: OperatorLayout,
    family: FamilyLayout,
    entry: StructType,
    maxParallelism: Int
) {
  private val key =
    UnsafeProjection.create(if (family.key.isEmpty) family.key else entry.head.dataType.asInstanceOf[StructType])
  private val keyColumns = entry.head.dataType.asInstanceOf[StructType].length
  private val hash = KeyHash.of(family.key, family.placement)

  def of(entries: Iterator[InternalRow]): Iterator[InternalRow] = family.placement match {
    case Placement.Hashed(_) => entries.map(placed)
    case Placement.First => entries.map(placed)
    case _ => throw new IncompatibleState(
        s"State ${family.name} of ${operator.title} has no keys that say where they belong.",
        "leave it as it is."
      )
  }

  private def placed(entry: InternalRow): InternalRow = {
    if (entry.isNullAt(0) || entry.isNullAt(1)) refuse("has no key or no value", "give every row both")
    if (family.multi) checkValues(entry.getArray(1))
    val row = key(entry.getStruct(0, keyColumns))
    val made = new GenericInternalRow(4)
    val found = hash.map(_(row))
    made.update(0, found.fold(0)(Math.floorMod(_, operator.parallelism)))
    made.update(1, found.map(of => Int.box(Math.floorMod(of, maxParallelism))).orNull)
    made.update(2, entry.getStruct(0, keyColumns))
    made.update(3, if (family.multi) entry.getArray(1) else entry.getStruct(1, valueColumns))
    made
  }

  /** A store has no key without values, and no list of a key has a place for null. */
  private def checkValues(values: ArrayData): Unit = {
    if (values.numElements() == 0) refuse("has a list without elements", "leave it out")
    if ((0 until values.numElements()).exists(values.isNullAt)) {
      refuse("has a list with null in it", "leave null out")
    }
  }

  private def refuse(found: String, action: String): Nothing = throw new IncompatibleState(
    s"A row of the table for state ${family.name} of ${operator.title} $found.",
    s"$action."
  )

  private val valueColumns = entry(1).dataType match {
    case struct: StructType => struct.length
    case _ => 0
  }
}
