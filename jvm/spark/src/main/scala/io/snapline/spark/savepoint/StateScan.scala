package io.snapline.spark.savepoint

import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecificInternalRow, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.execution.streaming.state.{StateStore, UnsafeRowPair}
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types.IntegerType
import org.slf4j.LoggerFactory

/** Reads one state of one version, partition by partition; runs in tasks. A key that is not where its hash says is an
  * error: it would be lost if the state were spread anew.
  *
  * @param uids
  *   by partition, the attempt to read; None: the provider's choice
  */
private[savepoint] final class StateScan(
    task: StoreTask,
    family: FamilyLayout,
    version: Long,
    uids: Map[Int, String],
    maxParallelism: Int
) extends Serializable {

  /** Owned by the running task, whose end closes the store. */
  def rows(partition: Int): Iterator[InternalRow] = open(partition).fold(Iterator.empty[InternalRow]) { store =>
    val toRow = new EntryRows(task.operator, family, partition, maxParallelism)
    if (family.multi) lists(store).map { case (key, values) => toRow(key, values) }
    else store.iterator(family.name).map(entry => toRow(entry.key, entry.value))
  }

  /** The entry of one key, if there is one.
    *
    * @param key
    *   the bytes of its row
    */
  def row(partition: Int, key: Array[Byte]): Iterator[InternalRow] = {
    val wanted = new UnsafeRow(family.key.length)
    wanted.pointTo(key, key.length)
    open(partition).iterator.flatMap { store =>
      val toRow = new EntryRows(task.operator, family, partition, maxParallelism)
      if (family.multi) {
        val values = store.valuesIterator(wanted, family.name).map(_.copy()).toArray[Any]
        if (values.isEmpty) None else Some(toRow(wanted, new GenericArrayData(values)))
      } else Option(store.get(wanted, family.name)).map(toRow(wanted, _))
    }
  }

  /** None: the partition does not have the state. */
  private def open(partition: Int): Option[StateStore] = {
    val provider = task.provider(partition)
    TaskContext.get().addTaskCompletionListener[Unit](_ => provider.close())
    val store = provider.getStore(version, uids.get(partition))
    TaskContext.get().addTaskCompletionListener[Unit] { _ =>
      try store.abort()
      catch { case NonFatal(e) => StateScan.log.warn(s"Could not give up ${store.id}.", e) }
    }
    if (task.store.hasFamilies) {
      // A state of a keyed function may be missing here, as long as its schema has not changed.
      if (family.placement == Placement.Every && !StoreCalls.families(store).contains(family.name))
        return None
      task.declare(family, store)
    }
    Some(store)
  }

  /** The values of a key come one after another. */
  private def lists(store: StateStore): Iterator[(UnsafeRow, GenericArrayData)] = {
    val entries =
      StoreCalls.lists(store, family.name).map(e => new UnsafeRowPair(e.key.copy(), e.value.copy())).buffered
    new Iterator[(UnsafeRow, GenericArrayData)] {
      override def hasNext: Boolean = entries.hasNext

      override def next(): (UnsafeRow, GenericArrayData) = {
        val key = entries.head.key
        val values = Array.newBuilder[Any]
        while (entries.hasNext && entries.head.key == key) values += entries.next().value
        (key, new GenericArrayData(values.result()))
      }
    }
  }
}

private object StateScan {
  private val log = LoggerFactory.getLogger(classOf[StateScan])
}

/** Makes the columns of [[StateColumns]] of an entry: one row, which is the same object each time. One thread. */
private final class EntryRows(operator: OperatorLayout, family: FamilyLayout, partition: Int, maxParallelism: Int) {
  private val hash = KeyHash.of(family.key, family.placement)
  private val nothing = new GenericInternalRow(Array[Any](null))
  private val row = new SpecificInternalRow(Seq(IntegerType, IntegerType, family.key, family.value))
  row.setInt(0, partition)
  row.setNullAt(1)

  def apply(key: UnsafeRow, value: Any): InternalRow = {
    hash.foreach { of =>
      val found = of(key)
      val place = Math.floorMod(found, operator.parallelism)
      if (place != partition) throw KeyHash.misplaced(operator, family.name, partition, place)
      row.setInt(1, Math.floorMod(found, maxParallelism))
    }
    row.update(2, if (family.key.isEmpty) nothing else key)
    row.update(3, if (family.value.isEmpty) nothing else value)
    row
  }
}
