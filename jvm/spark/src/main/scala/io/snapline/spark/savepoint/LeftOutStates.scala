package io.snapline.spark.savepoint

import scala.util.Using

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore, StateStoreProvider}
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls

import io.snapline.error.IncompatibleState
import io.snapline.spark.provider.SnaplineStateStore

/** Finds the states that the newest version of a function leaves out and its stores still hold. They belong to the
  * query: a later version may take them back.
  *
  * Spark's files say neither which of them were deleted nor which are lists, so the stores are asked: a job for each
  * store of a function that has ever left states out, and none for others.
  */
private[savepoint] object LeftOutStates {

  /** The same state, with the left out states that are there and no others.
    *
    * @param found
    *   a state whose layouts have all states that its operators ever had
    */
  def settle(session: SparkSession, found: FoundState): FoundState =
    found.copy(operators = found.operators.map { operator =>
      operator.copy(stores = operator.stores.map { store =>
        if (store.families.exists(_.leftOut)) settle(session, found, operator, store) else store
      })
    })

  private def settle(
      session: SparkSession,
      found: FoundState,
      operator: OperatorLayout,
      store: StoreLayout
  ): StoreLayout = {
    val uids = found.uidsOf(operator.id, store.name)
    val task = Savepoints.readTask(session, found.location, found.settings, operator, store, uids)
    val search = new HeldStates(task, found.version, uids)
    val partitions = 0 until operator.parallelism
    val held = session.sparkContext.parallelize(partitions, partitions.size).flatMap(search.in(_)).collect()
    val lists = held.map(state => state.name -> state.multi).toMap
    store.copy(families = store.families.flatMap { family =>
      if (!family.leftOut) Some(family)
      else lists.get(family.name).map(multi => family.copy(multi = multi.getOrElse(isList(operator, family))))
    })
  }

  /** Whether a state of Spark's own store is a list. The store does not say; a state whose key could be that of a list
    * is refused.
    */
  private def isList(operator: OperatorLayout, family: FamilyLayout): Boolean = family.spec match {
    case _: NoPrefixKeyStateEncoderSpec if !family.internal =>
      throw new IncompatibleState(
        s"The state ${family.name} of ${operator.title} has entries, and the newest version of the processor leaves it out: nothing says whether it is a list.",
        s"take the state back into the processor, or delete it there (deleteIfExists(\"${family.name}\")), and let a batch run."
      )
    case _ => false
  }
}

/** A state that has entries in a partition.
  *
  * @param multi
  *   whether it is a list; None: the store does not say
  */
private final case class HeldState(name: String, multi: Option[Boolean])

/** Looks for the left out states that have entries in a version of a store; runs in tasks.
  *
  * @param uids
  *   by partition, the attempt to read; None: the provider's choice
  */
private final class HeldStates(task: StoreTask, version: Long, uids: Map[Int, String]) extends Serializable {
  private val leftOut = task.store.families.filter(_.leftOut)

  def in(partition: Int): Seq[HeldState] = {
    implicit val closing: Using.Releasable[StateStoreProvider] = _.close()
    implicit val givingUp: Using.Releasable[StateStore] = _.abort()
    Using.resource(task.provider(partition)) { provider =>
      Using.resource(provider.getStore(version, uids.get(partition)))(heldIn(_))
    }
  }

  private def heldIn(store: StateStore): Seq[HeldState] = store match {
    case own: SnaplineStateStore =>
      own.stored.filter(_.keyCount > 0).map(_.descriptor).filter(stored => leftOut.exists(_.name == stored.name))
        .map(stored => HeldState(stored.name, Some(stored.multi)))
    case other =>
      val there = StoreCalls.families(other)
      leftOut.filter(family => there(family.name)).filter(hasEntries(_, other))
        .map(family => HeldState(family.name, None))
  }

  private def hasEntries(family: FamilyLayout, store: StateStore): Boolean = {
    task.declare(family, store)
    val entries = store.iterator(family.name)
    try entries.hasNext
    finally entries.close()
  }
}
