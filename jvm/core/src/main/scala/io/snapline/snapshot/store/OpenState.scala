package io.snapline.snapshot.store

import io.snapline.snapshot.format.{Origin, VersionRef}

/** A state that one [[VersionedState]] has left as it is, loaded and committed, for another one of the same store.
  * Whoever has it takes it over or closes it.
  *
  * @param origin
  *   of the one that left it
  */
final class OpenState private[snapshot] (private[snapshot] val held: HeldState, private[snapshot] val origin: Origin)
    extends AutoCloseable {
  override def close(): Unit = held.close()
}

/** Where a store may find a state of its own that somebody left open. */
trait LeftOpen {

  /** Whoever gets it owns it. */
  def take(wanted: VersionRef => Boolean): Option[OpenState]
}

object LeftOpen {
  val nothing: LeftOpen = _ => None
}
