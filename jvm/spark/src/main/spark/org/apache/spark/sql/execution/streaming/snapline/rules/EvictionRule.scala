package org.apache.spark.sql.execution.streaming
package snapline.rules

import io.snapline.spark.protocol.{Eviction, TimeColumn}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeTimeout, ProcessingTimeTimeout}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes.{Append, Update}
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.python.streaming.FlatMapGroupsInPandasWithStateExec
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper._
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.streaming.GroupStateTimeout
import org.apache.spark.sql.types.{DataType, StructType, TimestampNTZType, TimestampType}

/** Tells the stores of a micro-batch which rows its operators will remove, so that they need not walk over the others.
  * Changes no plan. An operator that it does not know gets all rows when it asks for them, as always.
  */
object EvictionRule extends ColumnarRule {
  private val Default = StateStore.DEFAULT_COL_FAMILY_NAME

  override def preColumnarTransitions: Rule[SparkPlan] = plan => {
    val writers = plan.collect { case writer: StateStoreWriter if PlannedState.isOfBatch(writer) => writer }
    writers.headOption.foreach { first =>
      val evictions = writers.flatMap(evictionsOf)
      val text = if (evictions.isEmpty) null else Eviction.text(first.getStateInfo.queryRunId, evictions)
      plan.session.sparkContext.setLocalProperty(Eviction.Property, text)
    }
    plan
  }

  private def evictionsOf(writer: StateStoreWriter): Seq[Eviction] = {
    val due: Seq[(String, String, (TimeColumn, Long))] = writer match {
      case join: StreamingSymmetricHashJoinExec if join.stateFormatVersion <= 3 =>
        sides(join)
      case other => ofOneState(other).toSeq.map((Default, Default, _))
    }
    val info = writer.getStateInfo
    due.map { case (asked, timed, (column, until)) =>
      Eviction(info.operatorId, info.storeVersion, asked, timed, column, until)
    }
  }

  private def ofOneState(writer: StateStoreWriter): Option[(TimeColumn, Long)] = writer match {
    case save: StateStoreSaveExec if save.outputMode.exists(mode => mode == Append || mode == Update) => byKey(save)
    case dedup: StreamingDeduplicateExec => byKey(dedup)
    case dedup: StreamingDeduplicateWithinWatermarkExec =>
      dedup.eventTimeWatermarkForEviction
        .map(watermark => TimeColumn(inKey = false, 0, inWindow = false, None) -> micros(watermark))
    case session: SessionWindowStateStoreSaveExec if session.outputMode.contains(Append) =>
      byWatermark(session.watermarkExpressionForEviction, session.child.output, inKey = false)
    case groups: FlatMapGroupsWithStateExec =>
      timeout(groups, groups.timeoutConf, groups.batchTimestampMs)
    case groups: FlatMapGroupsInPandasWithStateExec =>
      timeout(groups, groups.timeoutConf, groups.batchTimestampMs)
    case _ => None
  }

  /** The operator asks for the keys of a side. A value's time decides, or that of the key. */
  private def sides(join: StreamingSymmetricHashJoinExec): Seq[(String, String, (TimeColumn, Long))] = {
    val predicates = join.stateWatermarkPredicates
    Seq(("left", join.left, predicates.left), ("right", join.right, predicates.right)).flatMap {
      case (side, child, predicate) =>
        val keys = s"$side-keyToNumValues"
        predicate.flatMap {
          case key: JoinStateKeyWatermarkPredicate =>
            byWatermark(Some(key.expr), Nil, inKey = true).map((keys, keys, _))
          case value: JoinStateValueWatermarkPredicate =>
            byWatermark(Some(value.expr), child.output, inKey = false).map((keys, s"$side-keyWithIndexToValue", _))
        }
    }
  }

  private def byKey(operator: StateStoreWriter with WatermarkSupport): Option[(TimeColumn, Long)] =
    byWatermark(operator.watermarkExpressionForEviction, operator.keyExpressions, inKey = true)

  /** The column that the watermark is compared with, among those of the state's key or value. */
  private def byWatermark(
      expression: Option[Expression],
      columns: Seq[Attribute],
      inKey: Boolean
  ): Option[(TimeColumn, Long)] = {
    def ordinal(column: Expression): Int = column match {
      case bound: BoundReference => bound.ordinal
      case attribute: Attribute => columns.indexWhere(_.exprId == attribute.exprId)
      case _ => -1
    }
    expression.collect {
      case LessThanOrEqual(GetStructField(column, 1, _), Literal(until: Long, _)) if isWindow(column.dataType) =>
        TimeColumn(inKey, ordinal(column), inWindow = true, None) -> until
      case LessThanOrEqual(column, Literal(until: Long, _)) if isTime(column.dataType) =>
        TimeColumn(inKey, ordinal(column), inWindow = false, None) -> until
    }.filter(_._1.ordinal >= 0)
  }

  /** The time of a timeout is the last column of the state; those before the threshold have timed out. */
  private def timeout(
      groups: FlatMapGroupsWithStateExecBase,
      kind: GroupStateTimeout,
      batchTimestampMs: Option[Long]
  ): Option[(TimeColumn, Long)] = {
    val threshold = kind match {
      case ProcessingTimeTimeout => batchTimestampMs
      case EventTimeTimeout => groups.eventTimeWatermarkForEviction
      case _ => None
    }
    val last = groups.stateManager.stateSchema.length - 1
    val column = TimeColumn(inKey = false, last, inWindow = false, Some(GroupStateImpl.NO_TIMESTAMP))
    threshold.map(limit => column -> (limit - 1))
  }

  private def isTime(dataType: DataType): Boolean = dataType == TimestampType || dataType == TimestampNTZType

  private def isWindow(dataType: DataType): Boolean = dataType match {
    case window: StructType => window.length == 2 && isTime(window(1).dataType)
    case _ => false
  }

  private def micros(millis: Long): Long = millis * 1000
}
