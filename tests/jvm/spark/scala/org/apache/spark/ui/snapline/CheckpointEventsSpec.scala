package org.apache.spark.ui.snapline

import java.nio.file.Files

import io.snapline.checkpoint.history.{CheckpointStatus, RestoredCheckpoint}
import io.snapline.spark.ui._
import io.snapline.spark.ui.UiFixture._

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{SparkListenerApplicationStart, SparkListenerEvent}
import org.apache.spark.status.{AppHistoryServerPlugin, KVUtils}
import org.apache.spark.ui.snapline.history.CheckpointsHistoryPlugin
import org.apache.spark.util.{JsonProtocol, JsonProtocolOptions}
import org.apache.spark.util.kvstore.{InMemoryStore, RocksDB}
import org.scalatest.funsuite.AnyFunSuite

/** Events as Spark writes them into an event log and reads them back, and records in the store that the history server
  * keeps on disk.
  */
class CheckpointEventsSpec extends AnyFunSuite {
  private val events: Seq[CheckpointEvent] = Seq(
    start("s"),
    begun("s"),
    begun("s", None),
    CheckpointRestored("s", RestoredCheckpoint(7, 8, savepoint = true), totals(1, 2, 3)),
    changed(checkpoint("s", 1), totals(1, 1), partitions(Seq(1, -1, 3)), partitions(Seq(4000000000L), 1)),
    changed(checkpoint("s", 2, CheckpointStatus.Failed, message = "</script>\n\"quoted\" \u2603"), totals(2, 1, 1)),
    CheckpointDiscarded("s", 1),
    CheckpointingEnded("s", 9, "FAILED")
  )

  private val options = new JsonProtocolOptions(new SparkConf(false))

  private def json(event: SparkListenerEvent): String = JsonProtocol.sparkEventToJsonString(event, options)

  test("an event log gives back what was written") {
    for (event <- events) {
      val written = json(event)
      assert(!written.contains('\n') && written.contains(s""""Event":"${event.getClass.getName}""""))
      val read = JsonProtocol.sparkEventFromJson(written)
      assert(json(read) == written && read.getClass == event.getClass)
    }
    val read = events.map(event => JsonProtocol.sparkEventFromJson(json(event)).asInstanceOf[CheckpointEvent])
    val (live, replayed) = (heard(settings, events: _*), heard(settings, read: _*))
    assert(replayed.query("s") == live.query("s") && replayed.checkpoints("s") == live.checkpoints("s"))
    assert(replayed.partitions("s", 1).get.operators.map(_.rows) == live.partitions("s", 1).get.operators.map(_.rows))
  }

  test("a field that a later version adds does no harm, nor does one that an earlier one had not") {
    val written = json(events.head)
    assert(JsonProtocol.sparkEventFromJson(written.replace("\"folder\"", "\"later\":[1],\"folder\"")) == events.head)
    val earlier = written.replace("\"retained\":2,", "")
    assert(earlier != written &&
      JsonProtocol.sparkEventFromJson(earlier).asInstanceOf[CheckpointingStarted].config.retained == 0)
    val before = json(events(4)).replaceAll(""","inFlightSize":(\{[^}]*\}|\[[^]]*\]|\d+)""", "")
    assert(!before.contains("inFlight"))
    val shown = heard(settings, events.head, JsonProtocol.sparkEventFromJson(before).asInstanceOf[CheckpointEvent])
    assert(shown.query("s").get.inFlightSize.max == 0 && shown.checkpoint("s", 1).get.inFlightSize == 0)
    assert(shown.partitions("s", 1).get.operators.flatMap(_.rows).map(_.inFlightSize).sum == 0)
    assert(CheckpointsUi.pages(shown).forall(page =>
      render(shown, page.name, "id" -> "s", "checkpoint" -> "1").title.nonEmpty
    ))
  }

  test("records outlive a store on disk, in their order") {
    val folder = Files.createTempDirectory("snapline-kv").toFile
    val disk = new RocksDB(folder, KVUtils.serializerForHistoryServer(new SparkConf(false)))
    try {
      val listener = new CheckpointsListener(disk, settings.copy(checkpoints = 20, details = 3))
      events.foreach(listener.onOtherEvent)
      (3L to 40L).foreach(id =>
        listener.onOtherEvent(changed(checkpoint("s", id), totals(id, id), partitions(Seq(id, -1))))
      )
      val store = new CheckpointsStore(disk)
      assert(store.checkpoints("s").map(_.id) == (21L to 40L).reverse)
      assert(store.checkpoint("s", 40).contains(checkpoint("s", 40)))
      assert(store.partitions("s", 38).get.operators.head.rows.map(_.duration) == Seq(38, -1))
      assert(store.partitions("s", 37).isEmpty && store.checkpoint("s", 20).isEmpty)
      val query = store.query("s").get
      assert((query.total, query.latestRestored, query.ending) ==
        ((40, Some(RestoredCheckpoint(7, 8, savepoint = true)), "FAILED")))
      assert(query.latestCompleted.exists(_.id == 40) && query.config == config)
    } finally disk.close()
  }

  test("an event of a checkpoint with 2,000 partitions is small") {
    val event =
      changed(checkpoint("s", 1, stores = 2000), totals(1, 1), partitions((0 until 2000).map(i => 1000L + i % 900)))
    val bytes = json(event).length
    assert(bytes > 20000 && bytes < 100000, s"$bytes")
  }

  test("the history server finds the plugin, and an application without checkpoints has nothing to show") {
    val plugins = java.util.ServiceLoader.load(classOf[AppHistoryServerPlugin]).iterator
    val names = Iterator.continually(plugins).takeWhile(_.hasNext).map(_.next().getClass).toSeq
    assert(names.contains(classOf[CheckpointsHistoryPlugin]))
    val kv = new InMemoryStore
    new CheckpointsListener(kv, settings).onOtherEvent(SparkListenerApplicationStart("a", None, 0, "u", None))
    assert(new CheckpointsStore(kv).isEmpty)
  }
}
