package io.snapline.snapshot.store

import io.snapline.snapshot.format.VersionRef

/** What one view of a store has left for the next. */
final class LeftState(state: VersionedState) extends LeftOpen {
  @volatile var homeIsClosed = false
  var isTaken = false

  override def take(wanted: VersionRef => Boolean): Option[OpenState] = {
    val left = state.leave(() => homeIsClosed = true)(wanted)
    isTaken = left.isDefined
    left
  }
}
