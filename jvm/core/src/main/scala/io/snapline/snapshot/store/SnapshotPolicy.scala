package io.snapline.snapshot.store

/** When a version gets a snapshot.
  *
  * @param minChangelogs
  *   fewest changelogs between two snapshots
  * @param maxChangelogs
  *   most changelogs between two snapshots
  * @param sizeRatio
  *   changelog bytes since the last snapshot, relative to its size, that make one due
  * @param smallState
  *   bytes below which the ratio is not asked
  */
final case class SnapshotPolicy(
    minChangelogs: Int = 10,
    maxChangelogs: Int = 100,
    sizeRatio: Double = 0.5,
    smallState: Long = 4L << 20
) {
  def due(changelogs: Int, changelogBytes: Long, stateBytes: Long): Boolean =
    changelogs >= minChangelogs && (
      changelogs >= math.max(minChangelogs, maxChangelogs) ||
        stateBytes + changelogBytes < smallState ||
        changelogBytes >= sizeRatio * stateBytes
    )
}
