package io.snapline.promises

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.Cases
import io.snapline.error.SnaplineException
import io.snapline.snapshot.store.{StoreFixture, TestBackend, TestStorage}
import io.snapline.storage.{Fault, FaultPlan}

/** A checkpoint is visible only when everything it names is durable and has been checked.
  *
  * Every single operation of a store's life is made to fail in turn, in every way there is: after each, every version
  * that was committed and is kept loads with exactly its content, nothing a whole handle names is missing, and the life
  * goes on.
  *
  * The protocol is the same above each backend. In `./test` every operation fails in one way in three, in
  * `./test whole` in every way on RocksDB, in `./test all` on every backend.
  */
abstract class Promise1VisibleOnlyWhenDurableOn(backend: TestBackend, where: TestStorage = TestStorage.OnDisk)
    extends AnyFunSuite {

  test("a life without faults") {
    val operations = withJourney(FaultPlan.none) { (journey, _) =>
      assert(journey.errors.isEmpty && journey.newest == Journey.Versions)
    }
    // The journey is worth its name: every kind of operation on every kind of file.
    for (operation <- where.operations; kind <- Seq("changelog", "handle", "sst")) {
      assert(operations.exists(o => o.startsWith(operation) && o.endsWith(s".$kind")), s"$operation $kind")
    }
    Seq("delete .*changelog", "delete .*handle", "delete .*sst", "list sst", "list 0").foreach { pattern =>
      assert(operations.exists(_.matches(pattern)), pattern)
    }
  }

  // The operations come in the same order in every life until a fault is hit.
  private lazy val operations = withJourney(FaultPlan.none)((_, _) => ())

  private val isWhole = (backend == TestBackend.RocksDb && where == TestStorage.OnDisk && Cases.whole) || Cases.all

  /** Half of them on the heap: the steps of the protocol are the same there. */
  private def isTaken(index: Int): Boolean = Cases.whole || backend == TestBackend.RocksDb || index % 2 == 0

  private def isMeant(index: Int, fault: Fault): Boolean = {
    val ways = Fault.all.filter(where.makesSense(operations(index), _))
    val way = ways.indexOf(fault)
    // Of the writes a file is made of, a quarter fail in each of the ways but the first.
    if (isWhole) way == 0 || way > 0 && (!operations(index).startsWith("write") || index % 4 == way % 4)
    else isTaken(index) && way >= 0 && way % math.min(ways.size, 3) == index % math.min(ways.size, 3)
  }

  for (fault <- Fault.all) test(s"one operation after another fails: $fault") {
    val meant = operations.indices.filter(isMeant(_, fault))
    meant.foreach { index =>
      val plan = new FaultPlan(index, fault)
      withJourney(plan) { (_, fixture) =>
        assert(plan.hit.isDefined)
        assert(fixture.localFolders.isEmpty, "local files")
      }
    }
    info(s"${meant.size} operations of ${operations.size}")
  }

  /** Returns the operations. */
  private def withJourney(plan: FaultPlan)(body: (Journey, StoreFixture) => Unit): Seq[String] = {
    val fixture = new StoreFixture(Journey.settings, backend = backend, where = where, faulty = true)
    try
      try {
        val journey = new Journey(fixture)
        where.run(plan) {
          try journey.run()
          catch { case _: SnaplineException => () } // cut off: the process ends here
        }
        val created = where.created
        assert(created.distinct.size == created.size && !created.exists(_.contains("exists")), "names are used once")
        body(journey, fixture)
        journey.check(fixture)
        plan.operations
      } finally fixture.close()
    catch {
      case e: Throwable =>
        throw new AssertionError(
          s"after ${plan.hit.getOrElse("no fault")} (number ${plan.operations.indexOf(plan.hit.orNull)}): ${e.getMessage}",
          e
        )
    }
  }
}

class Promise1VisibleOnlyWhenDurableSpec extends Promise1VisibleOnlyWhenDurableOn(TestBackend.RocksDb)

class Promise1VisibleOnlyWhenDurableOnHashMapSpec extends Promise1VisibleOnlyWhenDurableOn(TestBackend.HashMap)

class Promise1VisibleOnlyWhenDurableOnNestedHashMapSpec
    extends Promise1VisibleOnlyWhenDurableOn(TestBackend.NestedHashMap)
