package io.snapline.snapshot.store

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format.{UidClock, VersionRef}

/** What is remembered of the newest versions, against a map of all of them. */
class RecentSnapshotsSpec extends AnyFunSuite {
  private val clock = new UidClock

  test("the oldest version that is kept is known, and what is held does not follow the number of versions") {
    for (seed <- 1L to 20L; retain <- Seq(1, 2, 30, Int.MaxValue - 1)) {
      val random = new Random(seed)
      val recent = new RecentSnapshots
      val every = 1 + random.nextInt(20)
      var all = Map.empty[Long, Option[VersionRef]]
      var snapshot = Option.empty[VersionRef]
      (1L to 600L).foreach { version =>
        recent.add(version, snapshot, retain)
        all += version -> snapshot
        if (random.nextInt(every) == 0) snapshot = Some(VersionRef(version, clock.next()))
        val oldestKept = math.max(1, version - retain + 1)
        assert(recent.of(oldestKept).contains(all(oldestKept)), s"seed $seed, version $version of $retain")
        assert(recent.size <= all.filter(_._1 >= oldestKept).values.toSet.size, s"seed $seed")
        assert(recent.of(version + 1).isEmpty)
      }
    }
  }

  test("whatever is kept, there is a bound; what is forgotten is not known, and not taken for another") {
    val recent = new RecentSnapshots
    (1L to 5000L).foreach(version => recent.add(version, Some(VersionRef(version, clock.next())), Int.MaxValue - 1))
    assert(recent.size == RecentSnapshots.MostRows)
    assert(recent.of(5000 - RecentSnapshots.MostRows).isEmpty && recent.of(5000L).exists(_.exists(_.version == 5000)))
    recent.add(6000, None, 10)
    assert(recent.of(5500).isEmpty && recent.of(5000).isEmpty && recent.of(6000).contains(None))
  }
}
