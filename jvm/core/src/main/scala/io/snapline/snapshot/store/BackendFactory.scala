package io.snapline.snapshot.store

import java.io.File

import io.snapline.state.KeyedBackend

/** Opens backends. Any thread. */
trait BackendFactory {

  /** As in the handle's meta. */
  def kind: String

  /** A new folder name on the local disk, unused; the backend that gets it owns it. */
  def newFolder(): File

  /** A backend on the folder, which is empty or (`restored`) holds the files of a snapshot. */
  def open(folder: File, restored: Boolean): KeyedBackend
}
