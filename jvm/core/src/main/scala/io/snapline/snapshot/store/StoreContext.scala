package io.snapline.snapshot.store

import io.snapline.snapshot.format.{Origin, UidClock}
import io.snapline.snapshot.upload.NearFolder
import io.snapline.storage.CheckpointStorage

/** One store: its place, and how its versions are kept there.
  *
  * @param storage
  *   the store's folder in the checkpoint
  * @param origin
  *   written into every file
  * @param near
  *   the executor's own folder, for changelogs that storage need not have
  * @param clock
  *   observes every version seen, so that later ones are told apart from them
  */
final case class StoreContext(
    storage: CheckpointStorage,
    settings: StateSettings,
    origin: Origin,
    near: Option[NearFolder] = None,
    clock: UidClock = new UidClock
)
