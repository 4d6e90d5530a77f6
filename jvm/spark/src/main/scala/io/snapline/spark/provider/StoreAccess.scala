package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state._

/** What every use of a store passes: it must be open, this task's, and the state of that name must be there.
  *
  * The classes of a store are a line of base classes, not parts that call each other: a row takes no step more.
  *
  * @param stamp
  *   of the provider, which one task at a time holds
  */
private[provider] abstract class StoreAccess(
    val provider: SnaplineProvider,
    val stamp: Long,
    useColumnFamilies: Boolean
) extends StateStore {
  import StorePhase._

  protected val stamps: RocksDBStateMachine = provider.stamps
  @volatile protected var phase: StorePhase = Updating
  private var lastName: String = _
  private var lastFamily: StateFamily = _

  override def id: StateStoreId = provider.stateStoreId

  /** The state of that name, for one operation. */
  protected final def using(operation: String, name: String): StateFamily = {
    transition(Update)
    if (name eq lastName) lastFamily
    else {
      if (name != StateStore.DEFAULT_COL_FAMILY_NAME) {
        if (!useColumnFamilies) throw StateStoreErrors.unsupportedOperationException(operation, StateFamily.OneFamily)
        if (name.isEmpty || name.trim != name) {
          throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
        }
      }
      val family = provider.families.get(name).getOrElse {
        throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily(operation, name)
      }
      lastName = name
      lastFamily = family
      family
    }
  }

  protected final def forgetFamily(): Unit = lastName = null

  /** As `using`, where the state has to hold lists. */
  protected final def usingLists(operation: String, name: String): StateFamily = {
    val family = using(operation, name)
    verify(family.multi, s"$operation requires an encoder that supports multiple values for a single key")
    family
  }

  protected final def checkFamilyChange(operation: String, name: String, isInternal: Boolean): Unit = {
    if (!useColumnFamilies) throw StateStoreErrors.unsupportedOperationException(operation, StateFamily.OneFamily)
    if (name.isEmpty || name.trim != name || (name == StateStore.DEFAULT_COL_FAMILY_NAME && !isInternal)) {
      throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
    }
    if (!isInternal && name.charAt(0) == '$') throw StateStoreErrors.cannotCreateColumnFamilyWithReservedChars(name)
  }

  protected final def verify(condition: Boolean, message: String): Unit =
    if (!condition) throw new IllegalStateException(message)

  protected final def expect(phases: StorePhase*): Unit = if (!phases.contains(phase)) {
    throw StateStoreErrors.stateStoreOperationOutOfOrder(
      s"Expected possible states ${phases.mkString("(", ", ", ")")} but found $phase"
    )
  }

  protected final def checkEnded(): Unit =
    if (phase == Updating) throw StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot get metrics in $phase state")

  protected final def transition(operation: Operation): Unit = {
    stamps.verifyStamp(stamp)
    if (phase != Updating)
      throw StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot ${operation.verb} after $phase")
    if (operation ne Update) {
      if (operation ne Abort) stamps.releaseStamp(stamp): Unit
      phase = operation.leadsTo
    }
  }
}
