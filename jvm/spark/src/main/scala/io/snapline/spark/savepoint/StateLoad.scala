package io.snapline.spark.savepoint

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}

import io.snapline.error.{IncompatibleState, InternalError}
import io.snapline.spark.operator.state.OperatorStateSpec

/** Writes the states of one store into the partitions of a checkpoint, each as one version that has no other before it.
  */
private[savepoint] final class StateLoad(task: StoreTask, version: Long, parallelism: Int) extends Serializable {

  /** @param states
    *   rows of [[StateColumns]], for every family of the store in its order
    * @return
    *   by partition, the uid of what was written
    */
  def run(states: Seq[DataFrame]): Seq[String] = {
    val dealt = dealings(states)
    val entries = states.zipWithIndex.map { case (rows, number) => spread(rows, number, dealt.get(number)) }
    val shuffled: RDD[(Int, Array[Byte])] =
      entries.reduce(_ union _).partitionBy(new ByNumber(parallelism))
    shuffled.mapPartitionsWithIndex((partition, rows) => Iterator(store(partition, rows.map(_._2)))).collect().toSeq
  }

  /** By number of the state, of those that are dealt out: each takes its turn where the one before it, by name, left
    * off.
    */
  private def dealings(states: Seq[DataFrame]): Map[Int, Dealing] = {
    val lists = task.store.families.zip(states).zipWithIndex.collect {
      case ((FamilyLayout(name, _, _, _, _, Placement.Dealt(union), _), rows), number) => (name, union, rows, number)
    }
    lists.sortBy(_._1).foldLeft((Map.empty[Int, Dealing], 0)) { case ((found, start), (_, union, rows, number)) =>
      val at = rows.schema.fieldIndex(StateColumns.Partition)
      val counts = SessionInternals.internalRows(rows).map(_.getInt(at)).countByValue().toMap
      val dealing = Dealing(union, counts, task.operator.parallelism, parallelism, start)
      (found.updated(number, dealing), dealing.nextStart)
    }._1
  }

  private def spread(rows: DataFrame, number: Int, dealing: Option[Dealing]): RDD[(Int, Array[Byte])] = {
    val (schema, target) = (rows.schema, parallelism)
    val load = task
    SessionInternals.internalRows(rows).mapPartitions { partition =>
      val pack = new StatePacking(load.operator, load.store.families(number), number, schema, target, dealing)
      partition.flatMap(pack(_))
    }
  }

  private def store(partition: Int, rows: Iterator[Array[Byte]]): String = {
    // The first failure is thrown: the failure of a close after it is a consequence.
    implicit val closing: Using.Releasable[StateStoreProvider] = _.close()
    Using.resource(task.provider(partition)) { provider =>
      val store = StoreCalls.empty(provider, version - 1)
      try {
        fill(store, rows)
        if (store.commit() != version) throw new InternalError(s"${store.id} made another version than $version.")
        store.getStateStoreCheckpointInfo().stateStoreCkptId.getOrElse("")
      } catch {
        case failure: Throwable =>
          // Spark's store cannot be closed while somebody has it.
          try store.abort()
          catch { case NonFatal(e) => failure.addSuppressed(e) }
          throw failure
      }
    }
  }

  private def fill(store: StateStore, rows: Iterator[Array[Byte]]): Unit = {
    val families = task.store.families.toIndexedSeq
    val fields = families.map(family => (family.key.length, family.value.length))
    if (task.store.hasFamilies) families.foreach { family =>
      // A family of schemas is declared with its first entry: without entries no schema has changed.
      if (family.placement != Placement.Every) task.declare(family, store)
    }
    rows.foreach { row =>
      val (number, key, values) = EntryBytes.unpack(row, fields)
      val family = families(number)
      if (family.placement == Placement.Every) task.declare(family, store)
      if (family.multi) store.putList(key, values, family.name) else store.put(key, values.head, family.name)
    }
  }
}

/** Spreads entries over the target's partitions. One thread. */
private final class StatePacking(
    operator: OperatorLayout,
    family: FamilyLayout,
    number: Int,
    schema: StructType,
    parallelism: Int,
    dealing: Option[Dealing]
) {
  private val position = UnsafeProjection.create(OperatorStateSpec.position)
  private val keys = new Rows(schema(StateColumns.Key).dataType, family.key)
  private val values = schema(StateColumns.Value).dataType match {
    case ArrayType(element, _) => new Rows(element, family.value)
    case single => new Rows(single, family.value)
  }
  private val place = new KeyPartition(family.key, family.placement, parallelism)
  private val (partitionAt, keyAt, valueAt) = (
    schema.fieldIndex(StateColumns.Partition),
    schema.fieldIndex(StateColumns.Key),
    schema.fieldIndex(StateColumns.Value)
  )

  def apply(row: InternalRow): Iterator[(Int, Array[Byte])] = {
    val from = row.getInt(partitionAt)
    if (row.isNullAt(keyAt) || row.isNullAt(valueAt)) damaged()
    val key = keys.of(row.getStruct(keyAt, keys.fields))
    val stored = if (family.multi) list(row) else Seq(values.of(row.getStruct(valueAt, values.fields)))
    dealing match {
      case Some(deal) => deal.places(from, key.getLong(0)).map { case (target, at) =>
          target -> EntryBytes.pack(number, position(InternalRow(at)), stored)
        }
      case None =>
        val packed = EntryBytes.pack(number, key, stored)
        targets(key, from).map(_ -> packed)
    }
  }

  private def list(row: InternalRow): Seq[UnsafeRow] = {
    val array = row.getArray(valueAt)
    (0 until array.numElements()).map(i => values.of(array.getStruct(i, values.fields)).copy())
  }

  private def targets(key: UnsafeRow, from: Int): Iterator[Int] = family.placement match {
    case Placement.Hashed(_) => place.of(key).iterator
    case Placement.First => Iterator(0)
    // All partitions have the same: those of the first go everywhere.
    case Placement.Every => if (from == 0) (0 until parallelism).iterator else Iterator.empty
    case Placement.Fixed(_) | Placement.Dealt(_) => Iterator(from)
  }

  private def damaged(): Nothing = throw new IncompatibleState(
    s"A row of state ${family.name} of ${operator.title} has no key or no value.",
    "give every row both: a state has no entries without."
  )
}

/** Makes the rows of a store of those that were read. One thread; a row is good until the next. */
private final class Rows(read: DataType, stored: StructType) {
  private val schema = read.asInstanceOf[StructType]
  // An empty row of the store has one column here, which is not taken over.
  private val projection = UnsafeProjection.create(if (stored.isEmpty) stored else schema)
  val fields: Int = schema.length

  def of(row: InternalRow): UnsafeRow = projection(row)
}

private final class ByNumber(override val numPartitions: Int) extends Partitioner {
  override def getPartition(key: Any): Int = key.asInstanceOf[Int]
}
