package io.snapline.state.heap

import io.snapline.error.InternalError
import io.snapline.state.ChangeSink
import io.snapline.state.rowtable.{Entry, Op, Page}

/** The changes of the version that is being made, in the changelog's encoding, on their way to its sink. One thread.
  *
  * @param handed
  *   told now and then, when some changes have gone to the sink
  */
private[heap] final class ChangeLog(account: HeapAccount, handed: () => Unit) {
  private var page = new Array[Byte](Page.Smallest)
  private var used = 0
  private var count = 0
  private var sink: ChangeSink = _
  account.add(HeapLayout.bytes(page.length))

  def begin(to: ChangeSink): Unit = sink = to

  /** The sink has seen everything when this returns. */
  def cut(): Unit = {
    hand()
    sink = null
  }

  def add(
      op: Int,
      family: Int,
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit = {
    reserve(Entry.size(family, keyLength, valueLength))
    write(op, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
  }

  /** A put that was asked for as a merge: there was nothing to append to. */
  def addFirst(
      family: Int,
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit = {
    if (sink != null && sink.eachChange) {
      // The mark and its put stay together.
      reserve(Entry.size(family, 0, 0) + Entry.size(family, keyLength, valueLength))
      write(Op.Void, family, key, 0, 0, null, 0, 0)
    }
    add(Op.Put, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
  }

  /** The deletion of a key that is not there, if somebody wants to see it. */
  def addNothingDeleted(family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Unit =
    if (sink != null && sink.eachChange) add(Op.Void, family, key, keyOffset, keyLength, null, 0, 0)

  private def write(
      op: Int,
      family: Int,
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit = {
    used = Entry.write(page, used, op, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
    count += 1
  }

  /** Pages grow with what is written: thousands of small stores may share a JVM. */
  private def reserve(size: Int): Unit = if (size > page.length - used) {
    hand()
    val wanted = math.max(size, math.min(Page.Size, page.length * 2))
    // One large value does not make the page large for ever.
    if (wanted > page.length || (page.length > Page.Size && wanted < page.length)) {
      account.add(HeapLayout.bytes(wanted) - HeapLayout.bytes(page.length))
      page = new Array[Byte](wanted)
    }
  }

  private def hand(): Unit = if (used > 0) {
    if (sink == null) throw new InternalError("Changes were made outside of a version.")
    sink.write(page, 0, used, count)
    used = 0
    count = 0
    handed()
  }
}
