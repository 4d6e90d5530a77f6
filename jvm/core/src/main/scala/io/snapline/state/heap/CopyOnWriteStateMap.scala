package io.snapline.state.heap

import java.util.Arrays

import io.snapline.state.rowtable.RowIndex

/** A hash map whose snapshot takes no time: what a snapshot shows is copied before it is changed
  * (docs/notes/005-heap-backends.md).
  *
  * Linear hashing: segments of some forty rows, split and joined one at a time, so that no operation moves more than
  * one. One thread, which also takes snapshots; what it hands out for one is read by any.
  */
private[heap] final class CopyOnWriteStateMap(versions: SnapshotVersions, account: HeapAccount) extends StateMap {
  import CopyOnWriteStateMap._

  private var segments = Array(new HashedRows(HashedRows.SmallestLog, versions.current))
  private var segmentsStamp = versions.current
  private var segmentCount = 1
  private var count = 0
  private var data = 0L
  private var changes = new ChangedRows(account)
  account.add(segments(0).bytes + HeapLayout.references(segments.length))

  override def size: Int = count

  override def dataBytes: Long = data

  /** The changes since the last snapshot. */
  def changed: ChangedRows = changes

  /** Sync phase: what is there now, whatever is changed afterwards. Call before the version ends. */
  def image: MapImage = new MapImage(segments, segmentCount)

  /** Sync phase: hands over what has changed since the last time. */
  def takeChanges(): ChangedRows = {
    val taken = changes
    taken.handOver()
    changes = new ChangedRows(account)
    taken
  }

  override def get(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    val hash = RowIndex.hash(0, key, offset, length)
    val segment = segments(indexOf(hash))
    val slot = segment.find(hash, key, offset, length)
    if (slot < 0) null else segment.row(slot)
  }

  override def put(
      key: Array[Byte],
      ko: Int,
      kl: Int,
      value: Array[Byte],
      vo: Int,
      vl: Int,
      inPlace: Boolean
  ): Unit = {
    val hash = RowIndex.hash(0, key, ko, kl)
    val index = indexOf(hash)
    val segment = segments(index)
    val slot = segment.find(hash, key, ko, kl)
    if (slot < 0) add(hash, index, key, ko, kl, value, vo, vl)
    else {
      val old = segment.row(slot)
      before = old
      data += vl - Row.valueLength(old)
      row =
        if (inPlace && !versions.holdsRow(Row.stamp(old)) && Row.fits(old, vl)) {
          Row.setValueLength(old, vl)
          touch(old)
        } else replace(index, slot, old, Row.make(key, ko, kl, vl, 0))
      System.arraycopy(value, vo, row, Row.valueAt(row), vl)
    }
  }

  override def append(
      key: Array[Byte],
      ko: Int,
      kl: Int,
      value: Array[Byte],
      vo: Int,
      vl: Int,
      inPlace: Boolean
  ): Unit = {
    val hash = RowIndex.hash(0, key, ko, kl)
    val index = indexOf(hash)
    val segment = segments(index)
    val slot = segment.find(hash, key, ko, kl)
    if (slot < 0) add(hash, index, key, ko, kl, value, vo, vl)
    else {
      val old = segment.row(slot)
      before = old
      data += vl
      row =
        if (inPlace && !versions.holdsRow(Row.stamp(old)) && Row.hasRoom(old, vl)) touch(old)
        else replace(index, slot, old, Row.extended(old, vl))
      Row.append(row, value, vo, vl)
    }
  }

  private def add(
      hash: Int,
      index: Int,
      key: Array[Byte],
      ko: Int,
      kl: Int,
      value: Array[Byte],
      vo: Int,
      vl: Int
  ): Unit = {
    before = null
    row = Row.make(key, ko, kl, vl, 0)
    System.arraycopy(value, vo, row, Row.KEY + kl, vl)
    Row.mark(row, versions.current, changes.add(row))
    val segment = own(index)
    val was = segment.bytes
    segment.insert(hash, row)
    count += 1
    data += kl + vl
    account.add(HeapLayout.bytes(row.length) + segment.bytes - was)
    if (count > segmentCount * MeanRows) split()
  }

  /** A row that is changed in place. */
  private def touch(old: Array[Byte]): Array[Byte] = {
    if (Row.stamp(old) != versions.current) Row.mark(old, versions.current, changes.add(old))
    old
  }

  private def replace(index: Int, slot: Int, old: Array[Byte], fresh: Array[Byte]): Array[Byte] = {
    if (Row.stamp(old) == versions.current) {
      changes.replace(Row.place(old), fresh)
      Row.mark(fresh, versions.current, Row.place(old))
    } else Row.mark(fresh, versions.current, changes.add(fresh))
    own(index).setRow(slot, fresh)
    account.add(HeapLayout.bytes(fresh.length))
    drop(old)
    fresh
  }

  override def remove(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    val hash = RowIndex.hash(0, key, offset, length)
    val index = indexOf(hash)
    val slot = segments(index).find(hash, key, offset, length)
    if (slot < 0) null
    else {
      val segment = own(index)
      val old = segment.row(slot)
      segment.removeAt(slot)
      count -= 1
      data -= Row.keyLength(old) + Row.valueLength(old)
      if (Row.stamp(old) == versions.current) changes.forget(Row.place(old))
      changes.deleted(Row.copyKey(old))
      drop(old)
      if (segmentCount > 1 && count < segmentCount * FewRows) join()
      old
    }
  }

  override def foreach(each: Array[Byte] => Unit): Unit = image.foreach(each)

  override def tableBytes: Long =
    HeapLayout.references(segments.length) + segments.iterator.take(segmentCount).map(_.bytes).sum + changes.counted

  override def close(): Unit = {
    changes.giveUp()
    account.add(-tableBytes)
    foreach(row => account.add(-HeapLayout.bytes(row.length)))
  }

  /** A row that is no longer in the map: gone, or a snapshot's alone. */
  private def drop(old: Array[Byte]): Unit = {
    val bytes = HeapLayout.bytes(old.length)
    if (versions.holdsRow(Row.stamp(old))) account.hold(bytes)
    account.add(-bytes)
  }

  // ---- segments

  private def indexOf(hash: Int): Int = {
    val level = Integer.highestOneBit(segmentCount)
    val stored = HashedRows.stored(hash)
    val spread = stored ^ (stored >>> 15)
    val index = spread & (2 * level - 1)
    if (index < segmentCount) index else index & (level - 1)
  }

  /** The segment, to be changed. */
  private def own(index: Int): HashedRows = {
    val segment = segments(index)
    if (!versions.holdsTable(segment.stamp)) segment
    else {
      val copy = segment.copy(versions.current)
      put(index, copy)
      copy
    }
  }

  /** Puts a segment in the place of another. */
  private def put(index: Int, segment: HashedRows): Unit = {
    if (versions.holdsTable(segmentsStamp)) {
      account.hold(HeapLayout.references(segments.length))
      segments = segments.clone()
      segmentsStamp = versions.current
    }
    val old = segments(index)
    segments(index) = segment
    if (old != null) {
      if (versions.holdsTable(old.stamp)) account.hold(old.bytes)
      account.add(-old.bytes)
    }
    if (segment != null) account.add(segment.bytes)
  }

  /** The next segment in turn gives half of its rows to a new one. */
  private def split(): Unit = {
    if (segmentCount == segments.length) {
      if (versions.holdsTable(segmentsStamp)) account.hold(HeapLayout.references(segments.length))
      account.add(HeapLayout.references(segments.length * 2) - HeapLayout.references(segments.length))
      segments = Arrays.copyOf(segments, segments.length * 2)
      segmentsStamp = versions.current
    }
    val from = segmentCount - Integer.highestOneBit(segmentCount)
    val to = segmentCount
    val old = segments(from)
    segmentCount += 1
    var moving = 0
    old.foreach((hash, _) => if (indexOf(hash) == to) moving += 1)
    val stays = new HashedRows(HashedRows.logCapacity(old.size - moving), versions.current)
    val moves = new HashedRows(HashedRows.logCapacity(moving), versions.current)
    old.foreach((hash, row) => (if (indexOf(hash) == to) moves else stays).insert(hash, row))
    put(from, stays)
    put(to, moves)
  }

  /** The last segment goes back to where it came from. */
  private def join(): Unit = {
    val from = segmentCount - 1
    val to = from - Integer.highestOneBit(from)
    val (going, staying) = (segments(from), segments(to))
    val joined = new HashedRows(HashedRows.logCapacity(going.size + staying.size), versions.current)
    Seq(going, staying).foreach(_.foreach((hash, row) => joined.insert(hash, row)))
    put(to, joined)
    put(from, null)
    segmentCount = from
    if (segments.length > 16 && segmentCount * 4 < segments.length) {
      account.add(HeapLayout.references(segments.length / 2) - HeapLayout.references(segments.length))
      segments = Arrays.copyOf(segments, segments.length / 2)
      segmentsStamp = versions.current
    }
  }
}

private[heap] object CopyOnWriteStateMap {

  /** Rows a segment has in the mean: few enough to copy or split in passing, many enough that the array of segments is
    * small.
    */
  private val MeanRows = 40
  private val FewRows = 12
}

/** The rows of a map at one moment; any thread, until the version is released. */
private[heap] final class MapImage(segments: Array[HashedRows], count: Int) {
  def foreach(each: Array[Byte] => Unit): Unit = {
    var i = 0
    while (i < count) {
      segments(i).foreach((_, row) => each(row))
      i += 1
    }
  }
}
