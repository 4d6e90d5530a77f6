package io.snapline.state.timeindex

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.StorageFailure
import io.snapline.state.LocalFolder

class TimeIndexSpec extends AnyFunSuite {

  /** A folder for the index's files, which are all gone at the end. */
  private def withIndex[A](limit: Long, from: Long = 0L)(body: TimeIndex => A): A = {
    val folder = Files.createTempDirectory("times").toFile
    val memory = new IndexMemory(limit)
    var number = 0
    val index = new TimeIndex(
      "time",
      memory,
      () => {
        number += 1
        new File(folder, number.toString)
      },
      from
    )
    try {
      val result = body(index)
      index.close()
      assert(folder.list().isEmpty, "a file stayed")
      assert(memory.used == 0, "memory stayed")
      result
    } finally LocalFolder.delete(folder)
  }

  private def bytes(key: String): Array[Byte] = key.getBytes(UTF_8)

  private def taken(index: TimeIndex, until: Long): Seq[String] =
    index.take(until).toSeq.map(new String(_, UTF_8))

  test("keys come at their time, once each, in order") {
    withIndex(1 << 20) { index =>
      Seq("b" -> 30L, "a" -> 10L, "c" -> 10L, "a" -> 20L, "d" -> 11L).foreach { case (key, time) =>
        index.add(time, bytes(key))
      }
      assert(taken(index, 9) == Nil)
      assert(index.size == 5)
      assert(taken(index, 10) == Seq("a", "c"))
      assert(taken(index, 25) == Seq("a", "d"))
      assert(taken(index, Long.MaxValue) == Seq("b"))
      assert(index.size == 0)
    }
  }

  test("an entry of a time that has passed is due at once, and one after an earlier time is not") {
    withIndex(1 << 20, from = 1000L) { index =>
      index.add(5L, bytes("late"))
      index.add(2000L, bytes("ahead"))
      assert(taken(index, 1500) == Seq("late"))
      index.add(1400L, bytes("between"))
      assert(taken(index, 1300) == Nil)
      assert(taken(index, 1400) == Seq("between"))
      assert(taken(index, 2000) == Seq("ahead"))
    }
  }

  for ((limit, where) <- Seq((1L << 30) -> "in memory", 0L -> "in files"); seed <- 1 to 20)
    test(s"random entries and times are those of a sorted set, $where, seed $seed") {
      val random = new Random(seed)
      val span = Seq(10L, 100000L, 1L << 40, Long.MaxValue)(seed % 4)
      def time(): Long =
        if (span == Long.MaxValue) random.nextLong() else (random.nextDouble() * span).toLong - span / 4
      withIndex(limit, from = time()) { index =>
        var model = mutable.Set.empty[(Long, String)]
        var entries = 0L
        for (_ <- 0 until 40) {
          for (_ <- 0 until random.nextInt(400)) {
            // Some keys are longer than a chunk of a bucket.
            val key = s"k${random.nextInt(300)}" * (if (random.nextInt(500) == 0) 40000 else 1 + random.nextInt(20))
            val at = time()
            index.add(at, bytes(key))
            model += at -> key
            entries += 1
          }
          assert(index.size == entries)
          val until = time()
          assert(index.lookedAt(until) >= model.count(_._1 <= until))
          if (random.nextBoolean()) {
            val before = index.size
            assert(index.reach(until) >= model.count(_._1 <= until))
            assert(index.size == before)
          }
          val before = index.size
          val (due, ahead) = model.partition(_._1 <= until)
          if (random.nextInt(4) == 0) index.drop(until)
          else assert(taken(index, until) == due.map(_._2).toSeq.sorted)
          model = ahead
          assert(index.size <= before)
          entries = index.size
        }
        assert(taken(index, Long.MaxValue) == model.map(_._2).toSeq.sorted)
      }
    }

  test("an index that has lost entries on the way is not whole, and gives back its memory") {
    val folder = Files.createTempDirectory("times").toFile
    val memory = new IndexMemory(0)
    var number = 0
    def newFile(): File = {
      number += 1
      new File(folder, number.toString)
    }
    val index = new TimeIndex("time", memory, () => newFile(), from = 0L)
    try {
      (1 to 2000).foreach(i => index.add(100L + i % 7, bytes(s"key $i")))
      index.whole = true
      assert(index.reach(50) == 0 && index.whole, "nothing was lost")
      val files = folder.listFiles()
      assert(files.nonEmpty)
      files.foreach(_.delete())
      intercept[StorageFailure](index.reach(200))
      assert(!index.whole)
    } finally index.close()
    assert(folder.list().isEmpty && memory.used == 0)
    LocalFolder.delete(folder)
  }

  test("an index that cannot be written is not whole, and gives back its memory") {
    val memory = new IndexMemory(0)
    val index = new TimeIndex("time", memory, () => new File("/nowhere/at/all"), from = 0L)
    index.whole = true
    intercept[StorageFailure]((1 to 2000).foreach(i => index.add(100L, bytes(s"key $i"))))
    assert(!index.whole)
    index.close()
    assert(memory.used == 0)
  }

  test("a step of time that reaches many entries looks at them once") {
    withIndex(1 << 30) { index =>
      val count = 100000
      val second = 1000000L
      (0 until count).foreach(i => index.add(1700000000 * second + i * second, bytes(s"key $i")))
      val until = 1700000000 * second + 100 * second
      assert(index.lookedAt(until) == count)
      assert(index.reach(until) == 101)
      assert(index.lookedAt(until) == 101)
      index.drop(until)
      assert(index.lookedAt(until) == 0)
      assert(index.size == count - 101)
    }
  }

  test("a step of time looks at few entries that are not due") {
    withIndex(1 << 30) { index =>
      val count = 100000
      val hour = 3600L * 1000000
      (0 until count).foreach(i => index.add(hour + i * hour / count, bytes(s"key $i")))
      assert(taken(index, hour / 2) == Nil)
      var looked = 0L
      var found = 0
      for (step <- 1 to 1000) {
        val until = hour + step * hour / 1000
        looked += index.lookedAt(until)
        found += taken(index, until).length
      }
      assert(found == count)
      // Each moves by a few digits on its way.
      assert(looked < 8L * count, looked)
    }
  }
}
