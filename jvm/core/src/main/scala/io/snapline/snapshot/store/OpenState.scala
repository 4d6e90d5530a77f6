package io.snapline.snapshot.store

import java.io.File

import io.snapline.snapshot.format.{Origin, VersionRef}
import io.snapline.state.KeyedBackend

/** A state that one [[VersionedState]] has left as it is, loaded and committed, for another one of the same store. Its
  * owner takes it over or closes it.
  *
  * @param origin
  *   origin of the state that left it
  */
final class OpenState private[snapshot] (private[snapshot] val held: HeldState, private[snapshot] val origin: Origin)
    extends AutoCloseable {
  override def close(): Unit = held.close()
}

/** Where a store may find a state of its own that somebody left open. */
trait LeftOpen {

  /** The caller owns the result. */
  def take(wanted: VersionRef => Boolean): Option[OpenState]
}

object LeftOpen {
  val nothing: LeftOpen = _ => None
}

/** Opens backends. Any thread. */
trait BackendFactory {

  /** As in the handle's meta. */
  def kind: String

  /** A new folder name on the local disk, unused; the backend that gets it owns it. */
  def newFolder(): File

  /** A backend on the folder, which is empty or (`restored`) holds the files of a snapshot. */
  def open(folder: File, restored: Boolean): KeyedBackend
}
