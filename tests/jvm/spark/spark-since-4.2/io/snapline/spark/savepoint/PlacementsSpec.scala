package io.snapline.spark.savepoint

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.streaming.operators.stateful.StatePartitionKeyExtractorFactory
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.operator.state.StateMigration

/** What is inferred here is held against what Spark itself takes for the partition key of each state. */
class PlacementsSpec extends AnyFunSuite {
  import StateVariableType._

  private val random = new Random(8)
  private val key = new StructType().add("a", StringType).add("b", LongType)
  private val map = new StructType().add("key", key).add("userKey", new StructType().add("value", StringType))
  private val timer = new StructType().add("key", key).add("expiryTimestampMs", LongType)
  private val byTime = new StructType().add("expiryTimestampMs", LongType).add("key", key)

  private def expiring(element: StructType) = new StructType().add("expirationMs", LongType).add("elementKey", element)

  private def value(dataType: DataType): Any = dataType match {
    case StringType if random.nextInt(5) == 0 => null
    case StringType => UTF8String.fromString(random.nextString(random.nextInt(9)))
    case struct: StructType => InternalRow.fromSeq(struct.fields.toSeq.map(field => value(field.dataType)))
    case _ => random.nextLong()
  }

  private def rows(schema: StructType): Seq[UnsafeRow] = {
    val project = UnsafeProjection.create(schema)
    Seq.fill(50)(project(value(schema).asInstanceOf[InternalRow]).copy())
  }

  private def check(
      operator: String,
      schema: StructType,
      store: String = "default",
      family: String = "default",
      format: Int = 2,
      variable: Option[(String, StateVariableType, Boolean)] = None
  ): Unit = test(s"$operator $store $family $format") {
    val info = variable.map { case (name, kind, ttl) => TransformWithStateVariableInfo(name, kind, ttl) }
    val spark = StatePartitionKeyExtractorFactory.create(operator, schema, store, family, Some(format), info)
    val columns = spark.partitionKeySchema.fields.toSeq.zipWithIndex.map { case (field, i) =>
      BoundReference(i, field.dataType, field.nullable)
    }
    val place = UnsafeProjection.create(Seq(HashPartitioning(columns, 12).partitionIdExpression))
    val kinds = variable.map { case (name, kind, _) => name -> kind }.toMap
    val ours = new KeyPartition(schema, new Placements(operator, format, kinds).of(store, family, schema), 12)
    val found = rows(schema).map { row =>
      val wanted = place(spark.partitionKey(row)).getInt(0)
      assert(ours.of(row).contains(wanted))
      wanted
    }
    assert(found.distinct.size > 5)
  }

  for (
    operator <-
      Seq("stateStoreSave", "dedupe", "dedupeWithinWatermark", "flatMapGroupsWithState", "applyInPandasWithState")
  ) {
    check(operator, key)
  }
  check("sessionWindowStateStoreSaveExec", key.add("start", TimestampType))
  for (side <- Seq("left", "right"); format <- 1 to 3) {
    val (numbers, values) = (s"$side-keyToNumValues", s"$side-keyWithIndexToValue")
    def names(name: String) = if (format == 3) ("default", name) else (name, "default")
    check("symmetricHashJoin", key, names(numbers)._1, names(numbers)._2, format)
    check("symmetricHashJoin", key.add("index", LongType), names(values)._1, names(values)._2, format)
  }
  for (operator <- Seq("transformWithStateExec", "transformWithStateInPandasExec", "transformWithStateInPySparkExec")) {
    for (kind <- Seq(ValueState, ListState); ttl <- Seq(true, false)) {
      check(operator, key, family = s"s$kind$ttl", variable = Some((s"s$kind$ttl", kind, ttl)))
    }
    check(operator, map, family = "m", variable = Some(("m", MapState, true)))
    check(operator, expiring(key), family = "$ttl_v", variable = Some(("v", ValueState, true)))
    check(operator, expiring(key), family = "$ttl_l", variable = Some(("l", ListState, true)))
    check(operator, expiring(map), family = "$ttl_m", variable = Some(("m", MapState, true)))
    for (index <- Seq("$rowCounter_l", "$count_l", "$min_l")) {
      check(operator, key, family = index, variable = Some(("l", ListState, true)))
    }
    for (domain <- Seq("event", "proc")) {
      val name = s"$$${domain}Timers_keyToTimestamp"
      check(operator, timer, family = name, variable = Some((name, TimerState, false)))
      check(operator, byTime, family = s"$$${domain}Timers_timestampToKey", variable = Some((name, TimerState, false)))
    }
  }

  private def placement(operator: String, family: String, schema: StructType): Placement =
    new Placements(operator, 2, Map.empty).of("default", family, schema)

  test("without a key all is in one place") {
    assert(placement("stateStoreSave", "default", new StructType()) == Placement.First)
    assert(placement("sessionWindowStateStoreSaveExec", "default", new StructType().add("t", LongType)) ==
      Placement.First)
    assert(placement("globalLimit", "default", new StructType().add("key", NullType)) == Placement.First)
  }

  test("numbers of schemas are everywhere") {
    assert(placement("transformWithStateInPySparkExec", StateMigration.Family, StateMigration.key) == Placement.Every)
  }

  test("what is not known stays") {
    assert(placement("somebodysExec", "default", key).isInstanceOf[Placement.Fixed])
  }
}
