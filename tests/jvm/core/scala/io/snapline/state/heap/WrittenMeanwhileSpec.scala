package io.snapline.state.heap

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{Callable, Executors, Future, TimeUnit}

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.Cases
import io.snapline.state._

/** A backend whose snapshots other threads write while the next batches run: each holds the rows of its moment. A seed
  * repeats the changes; which of them come while rows are written is chance.
  */
class WrittenMeanwhileSpec extends AnyFunSuite {
  private val nowhere: ChangeSink = (_, _, _, _) => ()
  private val Keys = 4000
  private type Rows = Map[String, String]

  private final class Run(seed: Int, settings: HeapSettings) {
    private val random = new Random(seed)
    private val root = Files.createTempDirectory("snapline-meanwhile").toFile
    private val memory = new HeapMemory(0)
    private val backend = new HeapBackend(new File(root, "db"), false, settings, memory)
    private val family = backend.createFamily("default", keyGroups = false, multi = false, internal = false)
    private val pool = Executors.newFixedThreadPool(2)
    private var model: Rows = Map.empty
    private var taken = Vector.empty[(Future[LocalSnapshot], Rows)]

    private def change(): Unit = {
      val key = f"k${random.nextInt(Keys)}%05d"
      random.nextInt(6) match {
        case 0 =>
          family.delete(key.getBytes): Unit
          model -= key
        case 1 =>
          family.merge(key.getBytes, "+".getBytes)
          model += key -> (model.getOrElse(key, "") + "+")
        case _ =>
          val value = random.nextInt(1000000).toString
          family.put(key.getBytes, value.getBytes)
          model += key -> value
      }
    }

    private def deleteRange(): Unit = {
      val from = random.nextInt(Keys)
      val (first, last) = (f"k$from%05d", f"k${from + 500}%05d")
      family.deleteRange(first.getBytes, last.getBytes)
      model = model.filterNot { case (key, _) => key >= first && key < last }
    }

    private def snapshot(): Unit = {
      val pending = backend.snapshot()
      val writing: Callable[LocalSnapshot] = () => pending.materialize()
      taken :+= ((pool.submit(writing), model))
    }

    private def check(): Unit = {
      val (written, expected) = taken.head
      taken = taken.tail
      val loaded = new HeapBackend(written.get(1, TimeUnit.MINUTES).folder, true, settings, memory)
      try {
        loaded.restoreFamilies(Seq(family.descriptor -> expected.size.toLong))
        val cursor = loaded.family("default").iterate()
        val found = Iterator.continually(cursor).takeWhile(_.next())
          .map(at => new String(at.key) -> new String(at.value)).toMap
        assert(found == expected)
      } finally loaded.close()
    }

    def play(batches: Int): Unit =
      try {
        for (batch <- 0 until batches) {
          backend.beginChanges(nowhere)
          if (batch % 20 == 10) deleteRange()
          (0 until 1 + random.nextInt(1000)).foreach(_ => change())
          backend.cutChanges()
          assert(family.keyCount == model.size && backend.metrics.storeBytes >= 0)
          if (random.nextInt(3) > 0) snapshot()
          while (taken.size > 6) check()
        }
        while (taken.nonEmpty) check()
      } finally {
        pool.shutdown()
        backend.close()
        LocalFolder.delete(root)
      }
  }

  for {
    seed <- if (Cases.whole) 1 to 20 else 1 to 2
    (files, settings) <-
      Seq(
        "images" -> HeapSettings(smallImage = Long.MaxValue),
        "chains" -> HeapSettings(imageAfter = 2, smallImage = 0)
      )
  } test(s"rows of the moment, whatever changes while they are written: $files, seed $seed") {
    new Run(seed, settings).play(100)
  }
}
