package io.snapline.state.heap

import io.snapline.error.InternalError
import io.snapline.state.ChangeSink
import io.snapline.state.rowtable.{Entry, Page}

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
    val size = Entry.size(family, keyLength, valueLength)
    if (size > page.length - used) makeRoom(size)
    used = Entry.write(page, used, op, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
    count += 1
  }

  /** Pages grow with what is written: thousands of small stores may share a JVM. */
  private def makeRoom(size: Int): Unit = {
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
