package io.snapline.state.rowtable

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The index against a plain map, with hashes that collide as often as a test wants. */
class RowIndexSpec extends AnyFunSuite {

  /** Keys one after another in a page, so that an address names a key. */
  private final class Keys(count: Int) {
    private val pages = new PageList(new PageMemory(Page.Size))
    private val page = pages.add(Page.Size, log = false)
    val index = new RowIndex(pages)

    val addresses: Seq[Int] = (0 until count).map { i =>
      val key = bytes(i)
      val offset = page.used
      page.used = Entry.write(page.bytes, offset, Op.Put, i % 3, key, 0, key.length, Array.emptyByteArray, 0, 0)
      Page.address(1, offset)
    }

    def bytes(i: Int): Array[Byte] = s"key-$i".getBytes("US-ASCII")

    /** Whether it was there. */
    def remove(hash: Int, address: Int): Boolean = {
      val slot = index.slotOf(hash, address)
      if (slot >= 0) index.remove(slot)
      slot >= 0
    }

    def find(hash: Int, i: Int): Int = index.find(hash, i % 3, bytes(i), 0, bytes(i).length)
  }

  for (
    (name, hashes) <- Seq[(String, Int => Int)](
      "hashes of their own" -> (i => RowIndex.hash(i % 3, s"key-$i".getBytes("US-ASCII"), 0, s"key-$i".length)),
      "sixteen hashes for all" -> (i => i % 16),
      "one hash for all" -> (_ => -1)
    )
  ) {
    test(s"adding, finding and removing keeps to a map: $name") {
      val count = 600
      val keys = new Keys(count)
      val there = mutable.Set.empty[Int]
      val random = new Random(7)
      (0 until 6000).foreach { step =>
        val i = random.nextInt(count)
        val slot = keys.find(hashes(i), i)
        assert((slot >= 0) == there(i), s"key $i in step $step")
        if (slot >= 0) assert(keys.index.address(slot) == keys.addresses(i))
        if (there(i)) {
          assert(keys.remove(hashes(i), keys.addresses(i)))
          there -= i
        } else if (random.nextInt(3) > 0) {
          keys.index.add(hashes(i), keys.addresses(i))
          there += i
        } else assert(!keys.remove(hashes(i), keys.addresses(i)))
        if (step % 1500 == 1499) {
          val odd = (0 until count).filter(_ % 2 == 1).map(keys.addresses).toSet
          keys.index.removeWhere(odd)
          there.filterInPlace(_ % 2 == 0)
        }
        assert(keys.index.size == there.size)
      }
      (0 until count).foreach(i => assert((keys.find(hashes(i), i) >= 0) == there(i)))
    }
  }

  test("the same key in two families is two keys") {
    val keys = new Keys(1)
    val key = keys.bytes(0)
    keys.index.add(5, keys.addresses.head)
    assert(keys.index.find(5, 0, key, 0, key.length) >= 0)
    assert(keys.index.find(5, 1, key, 0, key.length) == -1)
    assert(keys.index.find(5, 0, key, 0, key.length - 1) == -1)
  }

  test("addresses beyond half of their range survive being stored") {
    val keys = new Keys(1)
    val far = Page.address(Page.MaxNumber, Page.Size - 1)
    assert(Page.number(far) == Page.MaxNumber && Page.offset(far) == Page.Size - 1)
    keys.index.add(-1, keys.addresses.head)
    val slot = keys.find(-1, 0)
    keys.index.setAddress(slot, far)
    assert(keys.index.address(slot) == far)
    assert(keys.remove(-1, far))
    assert(keys.index.size == 0)
  }

  test("the hash looks at every byte and at the length") {
    val key = Array.tabulate[Byte](37)(_.toByte)
    val hash = RowIndex.hash(1, key, 0, key.length)
    assert(RowIndex.hash(1, Array.fill[Byte](3)(9) ++ key, 3, key.length) == hash)
    assert(RowIndex.hash(2, key, 0, key.length) != hash)
    assert(RowIndex.hash(1, key, 0, key.length - 1) != hash)
    key.indices.foreach { i =>
      val other = key.clone
      other(i) = (other(i) ^ 1).toByte
      assert(RowIndex.hash(1, other, 0, other.length) != hash, s"byte $i")
    }
  }
}
