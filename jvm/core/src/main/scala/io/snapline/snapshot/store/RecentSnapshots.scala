package io.snapline.snapshot.store

import java.util.{Map => JavaMap, TreeMap}

import io.snapline.snapshot.format.VersionRef

/** Which snapshot each of the newest versions of a line names, so that clean-up need not read their changelogs. A row
  * of versions that name the same one is one entry.
  *
  * Bounded whatever the number of versions is that are kept: clean-up reads what this has forgotten. Any thread.
  */
private[snapshot] final class RecentSnapshots {

  /** By the first version of each row. */
  private val rows = new TreeMap[java.lang.Long, Option[VersionRef]]
  private var newest = -1L

  /** @param retain
    *   versions kept, the newest included; clean-up asks for the oldest of them
    */
  def add(version: Long, snapshot: Option[VersionRef], retain: Int): Unit = synchronized {
    // A gap belongs to no row.
    if (version != newest + 1) rows.clear()
    if (rows.isEmpty || rows.lastEntry.getValue != snapshot) rows.put(version, snapshot)
    newest = version
    while (isOver(rows.higherEntry(rows.firstKey), version - retain + 1)) rows.pollFirstEntry(): Unit
  }

  private def isOver(second: JavaMap.Entry[java.lang.Long, Option[VersionRef]], oldestKept: Long): Boolean =
    second != null && (second.getKey <= oldestKept || rows.size > RecentSnapshots.MostRows)

  /** The snapshot that the version names; None: it is not known here. */
  def of(version: Long): Option[Option[VersionRef]] = synchronized {
    if (version > newest) None else Option(rows.floorEntry(version)).map(_.getValue)
  }

  def clear(): Unit = synchronized(rows.clear())

  def size: Int = synchronized(rows.size)
}

private[snapshot] object RecentSnapshots {

  /** A version in ten has a snapshot, or fewer. */
  private[snapshot] val MostRows = 1000
}
