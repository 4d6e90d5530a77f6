package io.snapline.spark.provider

import java.util.concurrent.{Executors, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format.VersionRef
import io.snapline.spark.provider.ProviderFixture._

/** Several attempts at one version: tasks that are retried, executors that do not know of each other, queries that are
  * restarted.
  */
class AttemptsSpec extends AnyFunSuite {
  private val everySnapshot = "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "1"
  private val keepTwo = Seq(
    "spark.sql.streaming.minBatchesToRetain" -> "2",
    "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint" -> "0.0"
  )

  private def changelogs(fixture: ProviderFixture, version: Long): Int =
    fixture.content.keys.flatMap(VersionRef.parse(_)).count { case (ref, kind) =>
      ref.version == version && kind == VersionRef.Changelog
    }

  for (format <- 1 to 2) {
    test(s"format $format: an attempt that is aborted leaves no row to the next") {
      using(format) { fixture =>
        val provider = fixture.open()
        val first = batch(provider, Version.Empty)(1L -> 1L, 2L -> 2L)
        // Enough rows that part of them is on its way to storage already.
        for (rows <- Seq(1, 100000)) {
          val before = fixture.content
          val attempt = provider.getStore(first.number, first.id)
          (0 until rows).foreach(i => attempt.put(row(1000L + i), row(i)))
          attempt.remove(row(1))
          attempt.abort()
          assert(fixture.content == before)
          assert(read(provider, first) == Map(1L -> 1L, 2L -> 2L))
        }
        val second = batch(provider, first)(3L -> 3L)
        for (reader <- Seq(provider, fixture.open())) {
          assert(read(reader, second) == Map(1L -> 1L, 2L -> 2L, 3L -> 3L))
        }
      }
    }

    test(s"format $format: an attempt that is made after another has committed starts where that one did") {
      using(format) { fixture =>
        val provider = fixture.open()
        val first = batch(provider, Version.Empty)(1L -> 1L)
        batch(provider, first)(2L -> 2L): Unit
        val retried = batch(provider, first)(3L -> 3L)
        assert(changelogs(fixture, 2) == 2)
        for (reader <- Seq(provider, fixture.open())) assert(read(reader, retried) == Map(1L -> 1L, 3L -> 3L))
      }
    }

    for (force <- Seq(false, true))
      test(s"format $format: two executors load one version and both commit it, with snapshots: $force") {
        using(format) { fixture =>
          val (one, other) = (fixture.open(), fixture.open())
          val base = batch(one, Version.Empty, force)(0L -> 0L)
          val left = ProviderFixture.store(one, base, force)
          // Attempts of one millisecond have no order among executors; these are to have one.
          Thread.sleep(2)
          val right = ProviderFixture.store(other, base, force)
          Seq(left -> 1L, right -> 2L).foreach { case (store, n) => store.put(row(n), row(n)) }
          val (ofLeft, ofRight) = (commit(left), commit(right))
          assert(changelogs(fixture, 2) == 2)
          // In format 1 the latest attempt counts for those who hold none.
          assert(read(fixture.open(), ofRight) == Map(0L -> 0L, 2L -> 2L))
          if (format == 2) {
            assert(ofLeft.id.isDefined && ofLeft.id != ofRight.id)
            // An executor whose attempt was not the one that counted takes the other's.
            for (winner <- Seq(ofLeft, ofRight); provider <- Seq(one, other, fixture.open())) {
              val expected = Map(0L -> 0L) + (if (winner == ofLeft) 1L -> 1L else 2L -> 2L)
              assert(read(provider, winner) == expected)
              val next = batch(provider, winner, force)(3L -> 3L)
              assert(read(fixture.open(), next) == expected + (3L -> 3L))
            }
          } else {
            // Whoever goes on, goes on from one attempt, whole.
            val next = batch(one, ofLeft, force)(3L -> 3L)
            assert(read(fixture.open(), next) == Map(0L -> 0L, 1L -> 1L, 3L -> 3L))
          }
        }
      }

    test(s"format $format: a reader keeps its version while a writer goes on and cleans up") {
      using(format) { fixture =>
        val writer = fixture.open(keepTwo :+ everySnapshot: _*)
        var newest = batch(writer, Version.Empty)(0L -> 0L)
        val old = newest
        val reader = fixture.open()
        val held = reader.getReadStore(newest.number, newest.id)
        val rows = held.iterator()
        for (n <- 1L to 10L) {
          newest = batch(writer, newest, force = n % 3 == 0)(n -> n)
          writer.doMaintenance()
        }
        assert(changelogs(fixture, old.number) == 0, "the writer has cleaned up")
        assert(rows.map(_.key.getLong(0)).toSeq == Seq(0L))
        assert(rowsOf(held) == Map(0L -> 0L) && held.get(row(1)) == null)
        held.release()
        assert(read(reader, newest) == (0L to 10L).map(n => n -> n).toMap)
      }
    }

    test(s"format $format: a query is restarted again and again while its old providers still close") {
      using(format) { fixture =>
        val pool = Executors.newCachedThreadPool()
        try {
          var newest = Version.Empty
          var expected = Map.empty[Long, Long]
          val closing = (1L to 12L).map { n =>
            val provider = fixture.open(everySnapshot)
            assert(newest == Version.Empty || read(provider, newest) == expected)
            for (i <- 0L until 3L) {
              newest = batch(provider, newest)(n * 10 + i -> n)
              expected += n * 10 + i -> n
            }
            pool.submit((() => provider.close()): Runnable)
          }
          closing.foreach(_.get(60, TimeUnit.SECONDS))
          assert(read(fixture.open(), newest) == expected)
        } finally pool.shutdownNow(): Unit
      }
    }

    test(s"format $format: what an executor that was given up commits late counts for nobody") {
      using(format) { fixture =>
        val lost = fixture.open()
        val first = batch(lost, Version.Empty)(1L -> 1L)
        val late = lost.getStore(first.number, first.id)
        late.put(row(666), row(666))

        val provider = fixture.open()
        var newest = batch(provider, first)(2L -> 2L)
        newest = batch(provider, newest)(3L -> 3L)
        commit(late): Unit
        for (reader <- Seq(provider, fixture.open())) {
          assert(read(reader, newest) == Map(1L -> 1L, 2L -> 2L, 3L -> 3L))
        }
        assert(read(fixture.open(), batch(provider, newest, force = true)()) == Map(1L -> 1L, 2L -> 2L, 3L -> 3L))
      }
    }
  }
}
