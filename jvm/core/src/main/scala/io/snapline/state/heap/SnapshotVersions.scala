package io.snapline.state.heap

import java.util.TreeMap

/** The version a backend's maps are at, and the snapshots of earlier ones that are not written yet. One thread takes;
  * any thread releases.
  */
private[heap] final class SnapshotVersions(released: () => Unit = () => ()) {
  private val outstanding = new TreeMap[Integer, java.lang.Boolean]
  private var now = 1
  @volatile private var oldest = 0
  @volatile private var rows = 0
  @volatile private var tables = 0

  /** Of what is changed from here on. */
  def current: Int = now

  /** Whether a row with this stamp belongs to a snapshot too: to an image, or to the changes of its version. */
  def holdsRow(stamp: Int): Boolean = stamp <= rows && (stamp >= oldest || stamp <= tables)

  /** Whether a table of rows with this stamp belongs to an image too. */
  def holdsTable(stamp: Int): Boolean = stamp <= tables

  /** Begins a new version; returns the one that ends. */
  def take(image: Boolean): Int = synchronized {
    val taken = now
    outstanding.put(taken, image)
    now += 1
    count()
    taken
  }

  /** What was taken is written, or given up. */
  def release(version: Int): Unit = synchronized {
    if (outstanding.remove(version) != null) {
      count()
      if (outstanding.isEmpty) released()
    }
  }

  private def count(): Unit = {
    oldest = if (outstanding.isEmpty) 0 else outstanding.firstKey
    rows = if (outstanding.isEmpty) 0 else outstanding.lastKey
    var newestImage = 0
    outstanding.forEach((version, image) => if (image) newestImage = version)
    tables = newestImage
  }
}
