package org.apache.spark.sql.execution.python.snapline

import io.snapline.spark.operator.state.{KeyedFamilies, KeyedSpec, OperatorUid, SchemaHistory}
import io.snapline.spark.operator.task.{BroadcastRows, EarliestTime, TaskSetup}

import org.apache.hadoop.conf.Configuration

import org.apache.spark.JobArtifactSet
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.AnyProvider
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.util.LongAccumulator

/** The keyed operator. A kind of Spark's transformWithState in the eyes of its planner, which knows only its own
  * stateful operators; its execution is all its own. The node itself is [[KeyedProcessExec]], whose fields are those of
  * a release line of Spark.
  *
  * It extends Spark's operator for the JVM and not the one for Python, though it runs Python. A plan is copied a dozen
  * times in each micro-batch, and every copy of the Python one resolves an encoder and registers its metrics: more than
  * a quarter of the driver's time. Fields of encoders and processors are empty. The output is in `dataAttributes`, the
  * order of a key's rows in `initialStateDataAttrs`. `initialState` is the broadcast stream, or the initial state, or
  * empty; `initialStateGroupingAttrs` has the order of the former's rows, or the keys of the latter's. Spark clears
  * `hasInitialState` after the first micro-batch.
  */
private[snapline] trait KeyedOperator extends TransformWithStateExec with AnyProvider {
  def function: KeyedFunction

  /** Whether rows come while the micro-batch lasts: Spark's real-time mode. */
  def isLive: Boolean

  private def spec: KeyedSpec = function.spec
  private def keySchema: StructType =
    if (spec.keyed) DataTypeUtils.fromAttributes(groupingAttributes) else TaskSetup.subtask
  private def hasBroadcast: Boolean = spec.broadcast
  private def order: Seq[Attribute] = initialStateDataAttrs

  override def nodeName: String = "KeyedProcess"

  override protected def stringArgs: Iterator[Any] =
    Iterator(function, groupingAttributes, order, output, timeMode, stateInfo, eventTimeWatermarkForEviction)

  /** The name under which checkpoints know the operator, and by which the `statestore` reader knows how its state is
    * laid out.
    */
  override def shortName: String = StatefulOperatorsUtils.TRANSFORM_WITH_STATE_IN_PYSPARK_EXEC_OP_NAME

  override def output: Seq[Attribute] = dataAttributes

  override def producedAttributes: AttributeSet = AttributeSet(output)

  /** Every column is the function's to see. */
  @transient override lazy val references: AttributeSet = child.outputSet

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(function)

  // A subclass of a case class equals its original unless it says otherwise, and is then dropped by tree
  // transformations.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[KeyedOperator]

  override def equals(that: Any): Boolean = that match {
    case other: KeyedOperator => (function eq other.function) && super.equals(other)
    case _ => false
  }

  override def hashCode: Int = super.hashCode

  // ---- planning

  override def requiredChildDistribution: Seq[Distribution] = Seq(
    if (spec.keyed) byKeys(groupingAttributes) else UnspecifiedDistribution,
    if (hasBroadcast) BroadcastDistribution(SortedRows.of(initialStateGroupingAttrs, initialState.output))
    else if (hasInitialState) byKeys(initialStateGroupingAttrs)
    else UnspecifiedDistribution
  )

  private def byKeys(keys: Seq[Attribute]): Distribution =
    if (isStreaming) StatefulOperatorPartitioning.getCompatibleDistribution(keys, getStateInfo, conf)
    else ClusteredDistribution(keys)

  override def outputPartitioning: Partitioning =
    if (spec.keyed) super.outputPartitioning
    else if (isStreaming) UnknownPartitioning(getStateInfo.numPartitions)
    else spec.parallelism.fold(super.outputPartitioning)(UnknownPartitioning(_))

  /** Spark replaces the second child only where there is initial state. */
  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): TransformWithStateExec =
    copy(child = newLeft, initialState = newRight)

  /** Rows come as the shuffle delivers them, unless an order was asked for; all rows of a key at once need them side by
    * side.
    */
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = {
    val columns = if (spec.grouped) groupingAttributes ++ order else order
    val initial = if (hasInitialState && function.initial.exists(_.spec.grouped)) initialStateGroupingAttrs else Nil
    Seq(columns, initial).map(_.map(SortOrder(_, Ascending)))
  }

  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    spec.keyed && eventTimeWatermarkForEviction.exists(newInputWatermark > _) && timeMode == TimeMode.EventTime() ||
      nextTimer.value <= System.currentTimeMillis() || waiting.value > 0

  /** The number of batches, this one included, that have rows or timers left for the next; counted by the tasks. */
  private lazy val waiting: LongAccumulator = sparkContext.longAccumulator

  /** The earliest timer in processing time that is still to fire; the tasks name it. */
  private lazy val nextTimer: EarliestTime = {
    val earliest = new EarliestTime
    sparkContext.register(earliest)
    earliest
  }

  override def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    KeyedMetrics.all ++ spec.metrics.map(name => StatefulOperatorCustomSumMetric(name, name))

  // ---- schema

  override def getColFamilySchemas(shouldBeNullable: Boolean): Map[String, StateStoreColFamilySchema] =
    KeyedFamilies.of(spec, keySchema).map(family => family.name -> family.schema).toMap

  override def getStateVariableInfos(): Map[String, TransformWithStateVariableInfo] =
    KeyedStateSchemas.variables(spec.states)

  override def validateAndMaybeEvolveStateSchema(
      hadoopConf: Configuration,
      batchId: Long,
      stateSchemaVersion: Int
  ): List[StateSchemaValidationResult] = {
    KeyedStateSchemas.checkParallelism(getStateInfo, hadoopConf, batchId, function)
    // Avro has Spark's own evolution: every row names its schema.
    if (usesAvro) super.validateAndMaybeEvolveStateSchema(hadoopConf, batchId, stateSchemaVersion)
    else {
      val families = KeyedFamilies.of(spec, keySchema)
      val info = getStateInfo
      val result =
        KeyedStateSchemas.evolve(info, hadoopConf, batchId, stateSchemaVersion, stateSchemaDirPath(), families)
      List(result)
    }
  }

  override def stateSchemaList(
      results: List[StateSchemaValidationResult],
      before: Option[OperatorStateMetadata]
  ): List[List[String]] = super.stateSchemaList(results, before.map(KeyedStateSchemas.here(_, getStateInfo)))

  override def operatorStateMetadata(stateSchemaPaths: List[List[String]]): OperatorStateMetadata =
    OperatorUid.in(super.operatorStateMetadata(stateSchemaPaths), spec.uid)

  override def validateNewMetadata(before: OperatorStateMetadata, now: OperatorStateMetadata): Unit = {
    OperatorUid.check(before, now)
    super.validateNewMetadata(before, now)
  }

  def histories: Seq[SchemaHistory] =
    if (isStreaming && !usesAvro) KeyedStateSchemas.histories(getStateInfo, KeyedFamilies.of(spec, keySchema)) else Nil

  def usesAvro: Boolean = conf.stateStoreEncodingFormat == StateStoreEncoding.Avro.toString

  // ---- execution

  override protected def doExecute(): RDD[InternalRow] = {
    metrics
    val artifact = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
    val setup = KeyedRun.setup(this, conf)
    val run = new KeyedRun(this, setup, KeyedRun.initialSetup(this, conf, setup), artifact, nextTimer, waiting)
    // One array for all partitions; Spark keeps it until nobody holds it any more.
    val broadcast =
      if (hasBroadcast) Some(initialState.executeBroadcast[Array[InternalRow]]()) else None
    val schema = broadcast.map(_ => DataTypeUtils.fromAttributes(initialState.output))
    def toAll: BroadcastRows = broadcast.fold(BroadcastRows.None)(rows => new BroadcastRows(schema, rows.value))
    val input = if (hasInitialState) InitialRows.zip(child.execute(), initialState.execute()) else child.execute()
    if (isStreaming) {
      val rows = if (spec.keyed) input else SubtaskRows.of(input, getStateInfo.numPartitions)
      rows
        .mapPartitionsWithStateStore[InternalRow](
          getStateInfo,
          keySchema,
          KeyedOperator.NoValue,
          NoPrefixKeyStateEncoderSpec(keySchema),
          session.sessionState,
          Some(session.streams.stateStoreCoordinator),
          useColumnFamilies = true,
          useMultipleValuesPerKey = true
        )(new StoreTask(run, () => toAll))
    } else {
      val bounded = BoundedStore.plan(session, keySchema)
      val always = hasBroadcast || hasInitialState || spec.operatorStates.nonEmpty
      spec.parallelism.fold(input)(SubtaskRows.of(input, _)).mapPartitionsWithIndex[InternalRow] { (partition, rows) =>
        if (!rows.hasNext && !always) Iterator.empty
        else {
          val store = bounded.open(partition)
          run.start(store, rows, toAll)(() => store.abort())
        }
      }
    }
  }

  def workerMetrics: Map[String, SQLMetric] = pythonMetrics

  /** Adds the figures of a task that has ended. */
  def reportStore(store: StateStore): Unit = {
    if (isStreaming) setStoreMetrics(store)
    setOperatorMetrics()
  }
}

/** The work of a task on its store. A class, because Spark goes through the bytecode of a closure and serializes it
  * once more, in each micro-batch.
  */
private final class StoreTask(run: KeyedRun, broadcast: () => BroadcastRows)
    extends ((StateStore, Iterator[InternalRow]) => Iterator[InternalRow])
    with Serializable {
  override def apply(store: StateStore, rows: Iterator[InternalRow]): Iterator[InternalRow] =
    run.start(store, rows, broadcast())(() => store.commit(): Unit)
}

private[snapline] object KeyedOperator {
  val NoValue: StructType = new StructType().add("value", BinaryType)

  /** With the number of partitions that the function asked for, in the place of the query's. */
  def sized(info: Option[StatefulOperatorStateInfo], function: KeyedFunction): Option[StatefulOperatorStateInfo] =
    function.spec.parallelism.fold(info)(partitions => info.map(_.copy(numPartitions = partitions)))
}
