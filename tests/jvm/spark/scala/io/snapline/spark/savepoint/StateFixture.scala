package io.snapline.spark.savepoint

import java.util.HexFormat

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.SerializableConfiguration

import io.snapline.spark.LocalSpark
import io.snapline.spark.operator.state.{OperatorStateSpec, Timers, TtlIndex}
import io.snapline.spark.provider.{ProviderFixture, Version}

/** The state of an operator that has every kind there is, in a checkpoint folder without a query; and a look at what is
  * in such folders, to the byte.
  *
  * @param conf
  *   settings of the query
  */
private[savepoint] final class StateFixture(spark: SparkSession, partitions: Int, conf: (String, String)*) {
  import StateFixture._

  val operator: OperatorLayout = OperatorLayout(0, "keyed", None, partitions, Nil, Seq(store))

  val offsetMetadata: String = {
    val all = conf.toMap + LocalSpark.provider + ("spark.sql.shuffle.partitions" -> partitions.toString)
    val members = all.map { case (name, value) => s""""$name":"$value"""" }.mkString(",")
    s"""{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{$members}}"""
  }

  private def task(root: String, layout: OperatorLayout) = new StoreTask(
    root,
    layout,
    store,
    StateStoreConf(SessionInternals.settingsOfBatch(spark, offsetMetadata)),
    new SerializableConfiguration(SessionInternals.hadoopConfiguration(spark)),
    None
  )

  /** Writes some versions of all partitions; returns the last. */
  def fill(root: String, random: Random): Long = {
    val versions = 1 + random.nextInt(4)
    val layout = task(root, operator)
    val keys = Seq.fill(random.nextInt(60))(key(random))
    val elements = Seq.fill(partitions)(keyless.map(_ => random.nextInt(5)))
    val shared = Seq.fill(random.nextInt(4))(random.nextInt(100).toLong -> random.nextLong()).toMap
    val seed = random.nextLong()
    (0 until partitions).foreach { partition =>
      val own = new Random(seed + partition)
      (0 until versions).foreach { version =>
        val provider = layout.provider(partition)
        val open = ProviderFixture.store(provider, Version(version.toLong, None), own.nextBoolean())
        try {
          store.families.foreach(layout.declare(_, open))
          keyed.foreach(family => keys.foreach(change(own, family, _, partition, open)))
          if (version == 0) {
            keyless.zip(elements(partition)).foreach { case (family, count) =>
              (0 until count).foreach(at =>
                open.put(row(position, at.toLong), row(number, own.nextLong()), family.name)
              )
            }
            shared.foreach { case (name, value) => open.put(row(number, name), row(number, value), everywhere.name) }
          }
          open.commit()
        } catch { case e: Throwable => open.abort(); throw e }
        finally provider.close()
      }
    }
    versions.toLong
  }

  private def change(
      random: Random,
      family: FamilyLayout,
      key: (Long, String),
      partition: Int,
      open: StateStore
  ): Unit = {
    val stored = row(family.key, entry(family, key, random): _*)
    if (new KeyPartition(family.key, family.placement, partitions).of(stored).contains(partition)) {
      def value = if (family.value == nothing) row(nothing, null)
      else row(text, utf8(random.alphanumeric.take(random.nextInt(30)).mkString))
      random.nextInt(5) match {
        case 0 => open.remove(stored, family.name)
        case 1 if family.multi => open.mergeList(stored, Array.fill(2)(value.copy()), family.name)
        case _ if family.multi => open.putList(stored, Array.fill(1 + random.nextInt(3))(value.copy()), family.name)
        case _ => open.put(stored, value, family.name)
      }
    }
  }

  /** By partition and family, all entries, and of each partition how many keys it says it has. */
  def dump(root: String, version: Long, count: Int): (Map[(Int, String), Seq[(String, Seq[String])]], Seq[Long]) = {
    val layout = task(root, operator.copy(parallelism = count))
    val partitions = (0 until count).map { partition =>
      val provider = layout.provider(partition)
      val open = provider.getStore(version)
      try {
        store.families.foreach(layout.declare(_, open))
        val found = store.families.map { family =>
          val rows =
            if (family.multi) {
              StoreCalls.lists(open, family.name).map(each => hex(each.key) -> hex(each.value)).toSeq
                .groupMap(_._1)(_._2).toSeq
            } else open.iterator(family.name).map(each => hex(each.key) -> Seq(hex(each.value))).toSeq
          (partition, family.name) -> rows.sortBy(_._1)
        }
        open.abort()
        (found, open.metrics.numKeys)
      } catch { case e: Throwable => open.abort(); throw e }
      finally provider.close()
    }
    (partitions.flatMap(_._1).toMap, partitions.map(_._2))
  }

  /** As a canonical savepoint is taken and restored, with the tables passed on. */
  def restoreCanonical(from: String, version: Long, to: String, count: Int): Unit = {
    val json = operatorJson
    val none = Map.empty[Integer, String].asJava
    val tables = store.families.map { family =>
      Savepoints.read(spark, from, version, offsetMetadata, json, store.name, family.name, none)
    }
    Savepoints.write(spark, to, version, offsetMetadata, json, store.name, count, 2, tables.asJava): Unit
  }

  def restoreNative(from: String, version: Long, to: String, count: Int, sourceVersion: Option[Long] = None): Unit =
    restoreAs(operatorJson, from, version, to, count, sourceVersion.getOrElse(version))

  /** With a layout that does not name one of the states. */
  def restoreWithout(state: String, from: String, version: Long, to: String, count: Int): Unit = {
    val rest = store.copy(families = store.families.filter(_.name != state))
    restoreAs(json(operator.copy(stores = Seq(rest))), from, version, to, count, version)
  }

  private def restoreAs(
      layout: String,
      from: String,
      version: Long,
      to: String,
      count: Int,
      sourceVersion: Long
  ): Unit = {
    val plan =
      s"""{"operators":[{"id":0,"partitions":$count,"layout":$layout}],"stores":${stores(sourceVersion)}}"""
    NativeSavepoints.restore(spark, from, to, version, offsetMetadata, plan): Unit
  }

  def copy(from: String, version: Long, to: String): String = NativeSavepoints.copy(spark, from, to, stores(version))

  private def stores(version: Long): String = (0 until partitions)
    .map(partition => s"""{"operator":0,"store":"default","partition":$partition,"version":$version}""")
    .mkString("[", ",", "]")

  private def operatorJson: String = json(operator)

  private def json(layout: OperatorLayout): String = OperatorLayout.toJson(Seq(layout)).drop(1).dropRight(1)
}

private[savepoint] object StateFixture {
  val position: StructType = OperatorStateSpec.position
  private val number = new StructType().add("value", LongType)
  private val text = new StructType().add("value", StringType)
  private val grouping = new StructType().add("k", LongType).add("s", StringType)
  private val nothing = Timers.valueSchema
  private val mapKey = new StructType().add("key", grouping).add("userKey", new StructType().add("u", StringType))
  private val timerKey = Timers.storedKey(grouping)
  private val ttlKey = TtlIndex.keySchema(grouping)

  private def family(name: String, key: StructType, value: StructType, spec: KeyStateEncoderSpec, by: Placement) =
    FamilyLayout(name, key, value, spec.json, name == "list", by)

  private val keyed = Seq(
    family("value", grouping, text, NoPrefixKeyStateEncoderSpec(grouping), Placement.byColumns(grouping)),
    family("list", grouping, text, NoPrefixKeyStateEncoderSpec(grouping), Placement.byColumns(grouping)),
    family("map", mapKey, text, PrefixKeyScanStateEncoderSpec(mapKey, 1), Placement.byStruct(mapKey, 0)),
    family(
      Timers.names.head,
      timerKey,
      nothing,
      RangeKeyScanStateEncoderSpec(timerKey, Seq(0)),
      Placement.byStruct(timerKey, 1)
    ),
    family(
      TtlIndex.family("value"),
      ttlKey,
      nothing,
      RangeKeyScanStateEncoderSpec(ttlKey, Seq(0)),
      Placement.byStruct(ttlKey, 1)
    )
  )

  private val keyless = Seq("$operator_b" -> false, "$operator_a" -> false, "$raw" -> false, "$union_c" -> true).map {
    case (name, union) => family(name, position, number, NoPrefixKeyStateEncoderSpec(position), Placement.Dealt(union))
  }

  private val everywhere = family("$broadcast_d", number, number, NoPrefixKeyStateEncoderSpec(number), Placement.Every)
  val store: StoreLayout = StoreLayout("default", keyed ++ keyless :+ everywhere)

  private def key(random: Random): (Long, String) =
    (random.nextInt(40).toLong, if (random.nextInt(8) == 0) null else s"key ${random.nextInt(3)}")

  private def entry(family: FamilyLayout, key: (Long, String), random: Random): Seq[Any] = {
    val group = InternalRow(key._1, utf8(key._2))
    family.name match {
      case "map" => Seq(group, InternalRow(utf8(s"u${random.nextInt(3)}")))
      case name if name.startsWith("$") => Seq(random.nextInt(1000).toLong - 500, group)
      case _ => Seq(key._1, utf8(key._2))
    }
  }

  private def utf8(text: String): UTF8String = UTF8String.fromString(text)

  private def row(schema: StructType, values: Any*): UnsafeRow =
    UnsafeProjection.create(schema).apply(InternalRow(values: _*)).copy()

  private def hex(row: UnsafeRow): String = HexFormat.of.formatHex(row.getBytes)
}
