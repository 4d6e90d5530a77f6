package io.snapline.spark.provider

import java.util.UUID

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreId, StateStoreIterator, UnsafeRowPair}

import io.snapline.spark.protocol.Eviction
import io.snapline.state.ColumnFamily
import io.snapline.state.timeindex.TimeIndex

/** Gives Spark's operator, which asks for all rows of a state to remove those whose time has come, those alone: in the
  * same order, but for others unseen (docs/notes/016-eviction.md). It keeps a time index with the rows that have the
  * times; where none is whole it walks over all of them once, and makes one.
  *
  * One task's use of a state. All puts of the rows that have the times have to come this way, or the index is made
  * anew.
  */
private[provider] abstract class Evictor(eviction: Eviction) {

  /** The state whose rows the operator asks for; null while no store of the task has it. */
  def asked: StateFamily

  /** The state whose rows have the times; likewise. */
  def timed: StateFamily

  private var examined = 0L
  private var mine: TimeIndex = _

  /** Rows that were read to find those whose time has come. */
  def rowsRead: Long = examined

  protected def read(rows: Int): Unit = examined += rows

  /** Puts a row that has a time. */
  final def put(key: UnsafeRow, value: UnsafeRow): Unit = {
    timed.encodeKey(key)
    timed.encodeValue(value)
    val rows = timed.rows
    val index = rows.timeIndex
    if (index == null || !isMine(index)) putRow(rows)
    else {
      putIndexed(key, value, rows, index)
      index.noted += 1
    }
  }

  /** Puts the encoded row, and adds its entry to the index if it needs one. */
  protected def putIndexed(key: UnsafeRow, value: UnsafeRow, rows: ColumnFamily, index: TimeIndex): Unit

  /** @param seen
    *   told every row that comes out
    */
  def iterator(seen: (UnsafeRow, UnsafeRow) => Unit): StateStoreIterator[UnsafeRowPair]

  protected def until: Long = eviction.until

  /** Whether it is of the column that decides now; a query may have been changed. */
  protected def isMine(index: TimeIndex): Boolean = (index eq mine) || {
    val is = index.of == eviction.column
    if (is) mine = index
    is
  }

  protected def isSound: Boolean = {
    val rows = timed.rows
    val index = rows.timeIndex
    index != null && isMine(index) && index.whole && index.noted == rows.putCount &&
    index.size <= Evictor.MostEntries * rows.keyCount + Evictor.Few
  }

  /** Whether so many rows are due that a walk over all needs much less memory. The index looks once at many that are
    * not.
    */
  protected def isMuchDue(index: TimeIndex): Boolean = isMany(index.lookedAt(until)) && isMany(index.reach(until))

  private def isMany(entries: Long): Boolean = entries > Evictor.many && entries > timed.rows.keyCount / 4

  protected def newIndex(): TimeIndex = {
    val index = timed.rows.newTimeIndex(eviction.column, until)
    index.noted = timed.rows.putCount
    index
  }

  /** Nothing is to be found in a state without rows. */
  protected def beginIfEmpty(): Unit = if (timed.rows.keyCount == 0 && !isSound) newIndex().whole = true

  protected def putRow(rows: ColumnFamily): Unit =
    rows.put(timed.key.bytes, 0, timed.key.length, timed.value.bytes, 0, timed.value.length)
}

private[spark] object Evictor {

  /** Those of a store in the task that runs here; none for an operator whose plan does not tell which rows it removes.
    *
    * @param run
    *   the run of the query
    * @param version
    *   that the task has loaded
    */
  def ofTask(run: UUID, id: StateStoreId, version: Long, families: StateFamilies): Seq[Evictor] = {

    /** The state of that name: a column family, or a store of its own. */
    def stateOf(name: String): Option[StateFamily] =
      if (id.storeName == StateStoreId.DEFAULT_STORE_NAME) families.get(name)
      else families.get(StateStore.DEFAULT_COL_FAMILY_NAME).filter(_ => id.storeName == name)

    Eviction.ofTask(run, id.operatorId, version).flatMap { eviction =>
      val inKey = eviction.column.inKey
      val timed = stateOf(eviction.timed).filter(state => !state.multi && (inKey || state.valuesArePlain))
      if (eviction.asked == eviction.timed) timed.filter(!inKey || _.keysArePlain).map(new RowEvictor(_, eviction))
      else {
        val asked = stateOf(eviction.asked)
        val join = Option.when(asked.isDefined || timed.isDefined)(JoinEvictor.ofTask(
          TaskContext.get(),
          id.partitionId,
          eviction
        ))
        join.foreach { evictor =>
          asked.foreach(evictor.bringKeys)
          timed.filter(_.keysArePlain).foreach(evictor.bringValues)
        }
        join
      }
    }
  }

  /** Entries for each row, on average, before an index with so many of rows that are gone is made anew. */
  val MostEntries = 4

  /** So few of those are never too many. */
  val Few = 100000

  /** The keys of so many take tens of megabytes. Tests have few rows, and set it lower. */
  @volatile private[spark] var many = 500000
}
