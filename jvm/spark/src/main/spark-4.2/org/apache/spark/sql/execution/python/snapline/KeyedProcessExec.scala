package org.apache.spark.sql.execution.python.snapline

import scala.collection.mutable

import io.snapline.spark.operator._

import org.apache.hadoop.conf.Configuration

import org.apache.spark.{JobArtifactSet, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.TransformWithStateInPySpark
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, UnspecifiedDistribution}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.CompletionIterator

/** The keyed operator. A kind of Spark's transformWithState in the eyes of its planner, which knows only its own stateful operators; what it runs is all its own. */
private[snapline] class KeyedProcessExec(
    functionExpr: Expression,
    groupingAttributes: Seq[Attribute],
    output: Seq[Attribute],
    outputMode: OutputMode,
    timeMode: TimeMode,
    stateInfo: Option[StatefulOperatorStateInfo],
    batchTimestampMs: Option[Long],
    prevBatchTimestampMs: Option[Long],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    userFacingDataType: TransformWithStateInPySpark.UserFacingDataType.Value,
    child: SparkPlan,
    isStreaming: Boolean,
    hasInitialState: Boolean,
    initialState: SparkPlan,
    initialStateGroupingAttrs: Seq[Attribute],
    initialStateSchema: StructType,
    val function: KeyedFunction,
    val order: Seq[Attribute]
) extends TransformWithStateInPySparkExec(
      functionExpr,
      groupingAttributes,
      output,
      outputMode,
      timeMode,
      stateInfo,
      batchTimestampMs,
      prevBatchTimestampMs,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      userFacingDataType,
      child,
      isStreaming,
      hasInitialState,
      initialState,
      initialStateGroupingAttrs,
      initialStateSchema
    ) {
  private def spec: KeyedSpec = function.spec
  private def keySchema: StructType = DataTypeUtils.fromAttributes(groupingAttributes)

  override def nodeName: String = "KeyedProcess"

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(function, order)

  // A subclass of a case class equals its original unless it says otherwise, and is then dropped by tree transformations.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[KeyedProcessExec]

  override def equals(that: Any): Boolean = that match {
    case other: KeyedProcessExec => (function eq other.function) && order == other.order && super.equals(other)
    case _ => false
  }

  override def hashCode: Int = super.hashCode

  override def copy(
      functionExpr: Expression,
      groupingAttributes: Seq[Attribute],
      output: Seq[Attribute],
      outputMode: OutputMode,
      timeMode: TimeMode,
      stateInfo: Option[StatefulOperatorStateInfo],
      batchTimestampMs: Option[Long],
      prevBatchTimestampMs: Option[Long],
      eventTimeWatermarkForLateEvents: Option[Long],
      eventTimeWatermarkForEviction: Option[Long],
      userFacingDataType: TransformWithStateInPySpark.UserFacingDataType.Value,
      child: SparkPlan,
      isStreaming: Boolean,
      hasInitialState: Boolean,
      initialState: SparkPlan,
      initialStateGroupingAttrs: Seq[Attribute],
      initialStateSchema: StructType
  ): TransformWithStateInPySparkExec = new KeyedProcessExec(
    functionExpr,
    groupingAttributes,
    output,
    outputMode,
    timeMode,
    stateInfo,
    batchTimestampMs,
    prevBatchTimestampMs,
    eventTimeWatermarkForLateEvents,
    eventTimeWatermarkForEviction,
    userFacingDataType,
    child,
    isStreaming,
    hasInitialState,
    initialState,
    initialStateGroupingAttrs,
    initialStateSchema,
    function,
    order
  )

  // ---- planning

  override def requiredChildDistribution: Seq[Distribution] = Seq(
    if (isStreaming) StatefulOperatorPartitioning.getCompatibleDistribution(groupingAttributes, getStateInfo, conf)
    else org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution(groupingAttributes),
    UnspecifiedDistribution
  )

  /** Rows come as the shuffle delivers them, unless an order was asked for; all rows of a key at once need them side by side. */
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = {
    val columns = if (spec.grouped) groupingAttributes ++ order else order
    Seq(columns.map(SortOrder(_, Ascending)), Nil)
  }

  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    eventTimeWatermarkForEviction.exists(newInputWatermark > _) && timeMode == TimeMode.EventTime() ||
      nextTimer.value <= System.currentTimeMillis()

  /** The earliest timer in processing time that is still to fire; the tasks name it. */
  private lazy val nextTimer: EarliestTime = {
    val earliest = new EarliestTime
    sparkContext.register(earliest)
    earliest
  }

  override def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    KeyedProcessExec.metrics ++ spec.metrics.map(name => StatefulOperatorCustomSumMetric(name, name))

  // ---- schema

  override def getColFamilySchemas(shouldBeNullable: Boolean): Map[String, StateStoreColFamilySchema] =
    KeyedFamilies.of(spec, keySchema).map(family => family.name -> family.schema).toMap

  override def getStateVariableInfos(): Map[String, TransformWithStateVariableInfo] =
    spec.states.map { state =>
      val kind = state.kind match {
        case StateSpec.ListKind => StateVariableType.ListState
        case StateSpec.MapKind => StateVariableType.MapState
        case _ => StateVariableType.ValueState
      }
      state.name -> TransformWithStateVariableInfo(state.name, kind, state.ttl)
    }.toMap

  override def validateAndMaybeEvolveStateSchema(
      hadoopConf: Configuration,
      batchId: Long,
      stateSchemaVersion: Int
  ): List[StateSchemaValidationResult] =
    if (usesAvro)
      // Spark's own evolution: every row names its schema.
      validateAndWriteStateSchema(
        hadoopConf,
        batchId,
        stateSchemaVersion,
        getStateInfo,
        stateSchemaDirPath(),
        session,
        operatorStateMetadataVersion,
        conf.stateStoreEncodingFormat
      )
    else {
      val families = KeyedFamilies.of(spec, keySchema)
      val info = getStateInfo
      val result =
        KeyedStateSchemas.evolve(info, hadoopConf, batchId, stateSchemaVersion, stateSchemaDirPath(), families)
      List(result)
    }

  private def usesAvro: Boolean = conf.stateStoreEncodingFormat == StateStoreEncoding.Avro.toString

  override protected def validateStateStoreProvider(isStreaming: Boolean): Unit = ()

  // ---- execution

  override protected def doExecute(): RDD[InternalRow] = {
    metrics
    val earliest = nextTimer
    val setup = taskSetup
    val artifact = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
    if (isStreaming) {
      child
        .execute()
        .mapPartitionsWithStateStore[InternalRow](
          getStateInfo,
          keySchema,
          KeyedProcessExec.NoValue,
          NoPrefixKeyStateEncoderSpec(keySchema),
          session.sessionState,
          Some(session.streams.stateStoreCoordinator),
          useColumnFamilies = true,
          useMultipleValuesPerKey = true
        )((store, rows) => run(setup, artifact, earliest, store, rows)(() => store.commit(): Unit))
    } else {
      val bounded = BoundedStore.plan(session, keySchema)
      child.execute().mapPartitionsWithIndex[InternalRow] { (partition, rows) =>
        if (!rows.hasNext) Iterator.empty
        else {
          val store = bounded.open(partition)
          run(setup, artifact, earliest, store, rows)(() => store.abort())
        }
      }
    }
  }

  private def taskSetup: TaskSetup = {
    val eventTime = WatermarkSupport.findEventTimeColumnIndex(child.output, allowMultipleEventTimeColumns = true)
    TaskSetup(
      spec,
      child.output,
      groupingAttributes.map(key => child.output.indexWhere(_.exprId == key.exprId)),
      DataTypeUtils.fromAttributes(output),
      getStateInfo.storeVersion,
      batchTimestampMs.getOrElse(0L),
      if (!isStreaming) Some(Long.MaxValue)
      else if (eventTime.isDefined) eventTimeWatermarkForEviction
      else None,
      eventTime,
      conf.sessionLocalTimeZone,
      isStreaming,
      ExchangeLimits.read(name => Option(conf.getConfString(name, null))),
      if (isStreaming && !usesAvro) KeyedStateSchemas.histories(getStateInfo, spec.states) else Nil
    )
  }

  private def run(
      setup: TaskSetup,
      artifact: Option[String],
      earliest: EarliestTime,
      store: StateStore,
      rows: Iterator[InternalRow]
  )(finish: () => Unit): Iterator[InternalRow] = {
    val started = System.nanoTime()
    setup.families.foreach(_.createIn(store))
    new StateMigration(setup.histories, store).run()
    val counts = new ChangeCounts
    val late = mutable.Queue.empty[InternalRow]
    val schemaOf = ArrowSchemas.of(setup.timeZone) _
    val stage = new TaskStage(setup, store, counts, schemaOf, ArrowSchemas.allocator("keyed process"))
    val task = stage.open(rows, lateRule(setup, late), late) { () =>
      val link = new PythonWorkerLink(function.python, artifact, pythonMetrics)
      link.start(TaskContext.get())
      link
    }
    CompletionIterator[InternalRow, Iterator[InternalRow]](
      task, {
        stage.cleanUp()
        longMetric("allUpdatesTimeMs") += (System.nanoTime() - started) / 1000000
        report(counts, task)
        stage.nextProcessingTimer.foreach(earliest.add)
        stage.close()
        longMetric("commitTimeMs") += timeTakenMs(finish())
        if (isStreaming) setStoreMetrics(store)
        setOperatorMetrics()
      }
    ).map { row =>
      longMetric("numOutputRows") += 1
      row
    }
  }

  /** Spark's rule for late rows; they are counted, and go to a side output if one was named. */
  private def lateRule(setup: TaskSetup, late: mutable.Queue[InternalRow]): LateRule =
    watermarkPredicateForDataForLateEvents match {
      case Some(predicate) if isStreaming && timeMode == TimeMode.EventTime() =>
        val dropped = longMetric("numRowsDroppedByWatermark")
        val toOutput = spec.lateOutput.map(LateRule.projection(setup, _))
        new LateRule(
          row => predicate.eval(row),
          row => {
            dropped += 1
            toOutput.foreach(projection => late += projection(row).copy())
          }
        )
      case _ => LateRule.None
    }

  private def report(counts: ChangeCounts, task: KeyedRows): Unit = {
    longMetric("numUpdatedStateRows") += counts.updated
    longMetric("numRemovedStateRows") += counts.removed
    longMetric(KeyedProcessExec.Registered) += counts.timersRegistered
    longMetric(KeyedProcessExec.Deleted) += counts.timersDeleted
    longMetric(KeyedProcessExec.Fired) += counts.timersFired
    longMetric(KeyedProcessExec.Expired) += counts.expired
    longMetric(KeyedProcessExec.Fetched) += counts.fetched
    longMetric(KeyedProcessExec.Epochs) += task.epochs
    task.metrics.foreach { case (name, value) => metrics.get(name).foreach(_ += value) }
  }
}

private object KeyedProcessExec {
  val NoValue: StructType = new StructType().add("value", org.apache.spark.sql.types.BinaryType)

  // The first four stand under the names of Spark's transformWithState.
  val Registered = "numRegisteredTimers"
  val Deleted = "numDeletedTimers"
  val Fired = "numExpiredTimers"
  val Expired = "numValuesRemovedDueToTTLExpiry"
  val Fetched = "numStateRowsFetched"
  val Epochs = "numPythonEpochs"

  def metrics: Seq[StatefulOperatorCustomMetric] = Seq(
    StatefulOperatorCustomSumMetric(Registered, "timers registered"),
    StatefulOperatorCustomSumMetric(Deleted, "timers deleted"),
    StatefulOperatorCustomSumMetric(Fired, "timers fired"),
    StatefulOperatorCustomSumMetric(Expired, "values removed because their time to live was over"),
    StatefulOperatorCustomSumMetric(Fetched, "rows of state sent to Python ahead"),
    StatefulOperatorCustomSumMetric(Epochs, "epochs of the Python workers")
  )
}
