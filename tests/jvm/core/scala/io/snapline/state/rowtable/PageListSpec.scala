package io.snapline.state.rowtable

import java.lang.ref.WeakReference

import org.scalatest.funsuite.AnyFunSuite

class PageListSpec extends AnyFunSuite {
  test("a page that had few rows, then none, and went is held by nobody") {
    val list = new PageList(new PageMemory(1L << 30))
    val gone = (1 to 20).map { _ =>
      val page = list.add(Page.Size, log = false)
      page.written = 8
      page.sealedOff = true
      page.rows = 2
      list.lostRow(page)
      page.rows = 0
      list.lostRow(page)
      assert(list.nextEmpty() eq page)
      list.remove(page)
      new WeakReference(page)
    }
    assert(list.bytes == 0)
    val until = System.nanoTime() + 10000000000L
    while (gone.exists(_.get != null) && System.nanoTime() < until) System.gc()
    assert(gone.forall(_.get == null))
    assert(list.nextEmpty() == null && list.nextSparse() == null)
  }

  test("pages whose changes wait are passed over") {
    val list = new PageList(new PageMemory(1L << 30))
    val pages = (1 to 3).map { _ =>
      val page = list.add(Page.Size, log = true)
      page.sealedOff = true
      page.pendingRuns = 1
      list.lostRow(page)
      page
    }
    assert(list.nextEmpty() == null)
    pages.last.pendingRuns = 0
    assert(list.nextEmpty() eq pages.last)
  }
}
