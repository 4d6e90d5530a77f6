package io.snapline.checkpoint.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.{CheckpointProperties, FailureReason}

class FailureCounterSpec extends AnyFunSuite {
  private val periodic = CheckpointProperties.NeverRetained

  private def expired(counter: FailureCounter, id: Long): Boolean =
    counter.failed(id, periodic, FailureReason.Expired, inStore = false)

  test("none tolerated: the first failure is too many") {
    assert(expired(new FailureCounter(0), 1))
  }

  test("so many in a row, each once") {
    val counter = new FailureCounter(2)
    assert(!expired(counter, 1) && !expired(counter, 1) && !expired(counter, 2) && expired(counter, 3))
    assert(!expired(counter, 4) && !expired(counter, 5), "it begins anew")
    counter.succeeded(6)
    assert(!expired(counter, 3) && !expired(counter, 4) && !expired(counter, 5), "older than the last success")
    assert(!expired(counter, 7) && !expired(counter, 8))
    counter.succeeded(5)
    assert(expired(counter, 9), "an old success is no news")
  }

  test("as many as there are") {
    val counter = new FailureCounter(Int.MaxValue)
    assert(!(1L to 1000).exists(expired(counter, _)))
  }

  test("savepoints: the coordinator's failures never count, a store's do, and one that is waited for fails the query") {
    import CheckpointProperties._
    val counter = new FailureCounter(1)
    for (properties <- Seq(Savepoint, SyncSavepoint); id <- 1L to 5) {
      assert(!counter.failed(id, properties, FailureReason.Expired, inStore = false))
    }
    assert(!counter.failed(1, Savepoint, FailureReason.AsyncFailure, inStore = true))
    assert(counter.failed(2, Savepoint, FailureReason.AsyncFailure, inStore = true))
    assert(counter.failed(3, SyncSavepoint, FailureReason.NotReady, inStore = true))
  }
}
