package io.snapline.state.heap

import java.io.File
import java.lang.management.ManagementFactory
import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.StateTooLarge
import io.snapline.state.{ChangeSink, LocalFolder}

/** Memory as it is counted, against the heap's own figure, and the limit. */
class HeapMemorySpec extends AnyFunSuite {
  private val nowhere: ChangeSink = (_, _, _, _) => ()

  private def withBackend(settings: HeapSettings, memory: HeapMemory)(body: HeapBackend => Unit): Unit = {
    val others = memory.used
    val root = Files.createTempDirectory("snapline-heap").toFile
    val backend = new HeapBackend(new File(root, "db"), false, settings, memory)
    try {
      backend.beginChanges(nowhere)
      body(backend)
    } finally {
      backend.close()
      assert(memory.used == others)
      LocalFolder.delete(root)
    }
  }

  private def usedHeap(): Long = {
    val bean = ManagementFactory.getMemoryMXBean
    (0 until 4).map { _ =>
      System.gc()
      Thread.sleep(50)
      bean.getHeapMemoryUsage.getUsed
    }.min
  }

  private def fill(backend: HeapBackend, rows: Int, valueLength: Int): Unit = {
    val family = backend.createFamily("default", keyGroups = false, multi = false, internal = false)
    val (key, value) = (new Array[Byte](18), new Array[Byte](valueLength))
    (0 until rows).foreach { i =>
      java.nio.ByteBuffer.wrap(key).putLong(i * 0x9e3779b97f4a7c15L)
      family.put(key, value)
    }
  }

  for {
    (map, settings) <- Seq("copy-on-write" -> HeapSettings(), "nested" -> HeapSettings(asyncSnapshots = false))
    (rows, length) <- Seq((300000, 17), (60000, 300))
    scanned <- Seq(false, true)
  } test(s"counted within 15 % of the heap's figure: $map, $rows rows, values of $length bytes, scanned $scanned") {
    val memory = new HeapMemory(0)
    val before = usedHeap()
    withBackend(settings, memory) { backend =>
      fill(backend, rows, length)
      if (scanned) backend.family("default").iterate().close()
      backend.cutChanges()
      val there = usedHeap() - before
      val counted = backend.metrics.tableBytes
      info(s"$counted counted, $there there: ${counted * 100 / there} %; ${counted / rows} a row")
      assert(math.abs(counted - there) < there * 0.15)
      assert(math.abs(memory.used - counted) <= (64L << 10), "the JVM's sum is that of its stores")
    }
  }

  test("rows that only a snapshot shows are counted until it is written") {
    withBackend(HeapSettings(), new HeapMemory(0)) { backend =>
      fill(backend, 20000, 100)
      backend.cutChanges()
      val before = backend.metrics.tableBytes
      val pending = backend.snapshot()
      backend.beginChanges(nowhere)
      fill(backend, 20000, 100)
      backend.cutChanges()
      assert(backend.metrics.tableBytes > before * 19 / 10)
      LocalFolder.delete(pending.materialize().folder)
      assert(backend.metrics.tableBytes < before * 11 / 10)
    }
  }

  private def fillUpTo(backend: HeapBackend, memory: HeapMemory, bytes: Long): Unit = {
    var rows = 0
    while (memory.used < bytes) {
      rows += 500
      fill(backend, rows, 17)
    }
  }

  private def second(memory: HeapMemory): StateTooLarge = {
    var error: StateTooLarge = null
    withBackend(HeapSettings(), memory)(other => error = intercept[StateTooLarge](fill(other, 100000, 17)))
    error
  }

  for (what <- Seq("rows", "a scan", "another store"))
    test(s"a limit is an error with a code, and no more memory: $what") {
      val memory = new HeapMemory(4L << 20)
      withBackend(HeapSettings(), memory) { backend =>
        val error = what match {
          case "rows" => intercept[StateTooLarge](fill(backend, 100000, 17))
          case "a scan" =>
            fillUpTo(backend, memory, memory.limit - (200L << 10))
            val before = memory.used
            val error = intercept[StateTooLarge](backend.family("default").iterate())
            assert(memory.used <= before + (64L << 10), "what was counted for it is given back")
            // The value is counted a second time: in the changelog.
            withBackend(HeapSettings(), memory)(other => fill(other, 1, 40000))
            error
          case _ =>
            fill(backend, 20000, 17)
            second(memory)
        }
        assert(error.code == "SNAPLINE-TOO-LARGE" && error.found.contains(HeapMemory.Setting))
        assert(memory.used <= memory.limit)
      }
    }

  test("a range that is deleted as far as the limit lets it counts as a change") {
    val memory = new HeapMemory(4L << 20)
    withBackend(HeapSettings(), memory) { backend =>
      fill(backend, 1, 17)
      val family = backend.family("default")
      // The rows' order is there before memory is scarce.
      family.iterate().close()
      fillUpTo(backend, memory, memory.limit - (300L << 10))
      backend.cutChanges()
      // Its rows stay in memory though they are deleted.
      backend.snapshot(): Unit
      backend.beginChanges(nowhere)
      val (keys, changes) = (family.keyCount, backend.changeCount)
      intercept[StateTooLarge](family.deleteRange(Array.emptyByteArray, Array.fill(18)(-1)))
      assert(family.keyCount < keys && backend.changeCount > changes)
    }
  }
}
