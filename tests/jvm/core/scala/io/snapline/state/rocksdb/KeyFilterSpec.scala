package io.snapline.state.rocksdb

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state.rowtable.RowIndex
import io.snapline.state.timeindex.IndexMemory

class KeyFilterSpec extends AnyFunSuite {
  private def hash(i: Int): Int = {
    val key = f"key$i%08d".getBytes
    RowIndex.hash(0, key, 0, key.length)
  }

  for (expected <- Seq(0L, 1000L, 200000L)) test(s"100,000 keys are there, and few others, with $expected expected") {
    val memory = new IndexMemory(16L << 20)
    val filter = new KeyFilter(memory, expected)
    val random = new Random(expected)
    val keys = Seq.fill(100000)(random.nextInt())
    assert(keys.forall(i => filter.add(hash(i))))
    assert(keys.forall(i => filter.mayHave(hash(i))))
    val passed = Seq.fill(100000)(random.nextInt()).count(i => filter.mayHave(hash(i)))
    // Each filter of the row lets some pass.
    assert(passed < (if (expected == 200000L) 3000 else 8000))
    assert(filter.bytes == memory.used)
    assert(filter.bytes < 100000 * 7)
    filter.close()
    assert(memory.used == 0)
    assert(keys.forall(i => !filter.mayHave(hash(i))))
  }

  test("it says when there is no memory for a key, and keeps to its memory") {
    val memory = new IndexMemory(20L << 10)
    val filter = new KeyFilter(memory, 100)
    val added = (0 until 100000).takeWhile(i => filter.add(hash(i)))
    assert(added.size > 5000 && added.size < 20000)
    assert(added.forall(i => filter.mayHave(hash(i))))
    assert(memory.used <= (20L << 10))
    filter.close()
  }
}
