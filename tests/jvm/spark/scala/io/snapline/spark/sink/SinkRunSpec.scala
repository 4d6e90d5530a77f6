package io.snapline.spark.sink

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{IncompatibleState, InvalidConfiguration}

class SinkRunSpec extends AnyFunSuite {
  private val sink = SinkId("query", "memory")

  private def target(markers: (Int, Marker)*): MemorySink = {
    val made = new MemorySink(keepsRows = false, _ => false)
    made.markers ++= markers
    made
  }

  private def run(rewrite: Option[Long] = None): SinkRun =
    new SinkRun(sink, "run", SinkOptions(None, rewrite, warnsOfDifference = false))

  private def marker(batch: Long, partitions: Int = 2): Marker = Marker(batch, partitions, rows = 1, digest = 1)

  private def written(partition: Int, batch: Long, place: Option[MarkerPlace] = None): WriterCommitMessage =
    Written(partition, Some(marker(batch)), place, skipped = false)

  test("markers of the sink are known in the first batch, and those of a batch in the next") {
    val query = run()
    val to = target(0 -> marker(3), 1 -> marker(4))
    assert(query.begin(to, 4, 2).known.markers == to.markers.toMap)
    query.commit(4, Array(written(0, 4, Some(MarkerPlace(2, 10))), Written(1, None, None, skipped = false)))
    val next = query.begin(to, 5, 2).known
    assert(next.markers == Map(0 -> marker(4), 1 -> marker(4)))
    assert(next.positions == Map(2 -> 11L))
    assert(to.prepared == 1)
  }

  test("a position never goes back") {
    val query = run()
    query.begin(target(), 0, 2): Unit
    query.commit(0, Array(written(0, 0, Some(MarkerPlace(1, 10))), written(1, 0, Some(MarkerPlace(1, 8)))))
    assert(query.begin(target(), 1, 2).known.positions == Map(1 -> 11L))
  }

  test("a sink that is ahead of the checkpoint folder is refused, unless the batch is named") {
    val to = target(0 -> marker(7), 1 -> marker(4))
    val refused = intercept[IncompatibleState](run().begin(to, 5, 2))
    assert(refused.found.contains("batch 7") && refused.action.contains("rewrite to 5"))
    assert(intercept[IncompatibleState](run(Some(4)).begin(to, 5, 2)) != null)
    val known = run(Some(5)).begin(to, 5, 2).known
    assert(to.forgotten.contains(5L) && known.markers.values.forall(_.batch == 4))
  }

  test("a batch that is there in part with another number of partitions is refused, unless it is named") {
    val to = target(0 -> marker(5, partitions = 4), 1 -> marker(4, partitions = 4))
    assert(intercept[IncompatibleState](run().begin(to, 5, 2)).found.contains("had 4 partitions, and has 2"))
    assert(run(Some(5)).begin(to, 5, 2).known.markers(0).batch == 4)
    assert(run().begin(target(0 -> marker(5), 1 -> marker(4, partitions = 4)), 5, 2).known.markers.size == 2)
  }

  test("two sinks of one name in a batch are told apart before rows are lost") {
    val query = run()
    query.begin(target(), 0, 2): Unit
    query.begin(target(), 0, 2): Unit // Spark runs the job of a batch again, or the user's function does
    query.commit(0, Array.empty)
    assert(intercept[InvalidConfiguration](query.begin(target(), 0, 2)).action.contains("option sink"))
  }

  test("its figures are in the progress of a batch") {
    val query = run()
    query.begin(target(), 0, 2): Unit
    query.commit(0, Array(written(0, 0), Written(1, Some(marker(0)), None, skipped = true)))
    assert(query.metrics == Map(
      "sink" -> "memory",
      "batch" -> "0",
      "partitions" -> "2",
      "rowsWritten" -> "1",
      "rowsSkipped" -> "1"
    ))
  }
}
