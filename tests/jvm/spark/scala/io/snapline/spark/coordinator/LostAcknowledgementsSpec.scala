package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.snapshot.format.{HandleMeta, Origin, UidClock, VersionRef}
import io.snapline.snapshot.merged.{MergedPlace, StoredHandle}
import io.snapline.snapshot.upload.SnapshotFigures

class LostAcknowledgementsSpec extends AnyFunSuite {
  private val clock = new UidClock
  private val stores = (0 until 3).map(StoreId(0, _, "default"))
  private val waiting = PendingCheckpoint(
    4,
    "run",
    9,
    CheckpointProperties.RetainedOnFailure,
    stores.toSet,
    triggeredMs = 0,
    committedMs = Some(1000)
  )

  private def meta(version: Long): HandleMeta =
    HandleMeta(VersionRef(version, clock.next()), Nil, "rocksdb", Nil, Nil, 0, 0, 0, Origin("w", "run", Map.empty))

  test("what is in storage is acknowledged after a while, once there is one attempt of it") {
    val there = Map(stores(0) -> Seq(meta(10)), stores(1) -> Seq(meta(10), meta(10)))
    var asked = Seq.empty[(StoreId, Long, String)]
    val lost = new LostAcknowledgements(
      "query",
      500,
      (version, run) =>
        store => {
          asked :+= ((store, version, run))
          there.getOrElse(store, Nil).map(StoredHandle(_, 77L, Some(MergedPlace("uid", 5))))
        }
    )
    assert(lost.look(Seq(waiting), 1400).isEmpty && asked.isEmpty)
    val found = lost.look(Seq(waiting), 1500)
    assert(found.map(_.store) == Seq(stores(0)))
    assert(found.head.handle.ref == there(stores(0)).head.ref && found.head.handle.handleBytes == 77)
    assert(found.head.handle.merged.contains(MergedPlace("uid", 5)))
    assert(asked.toSet == stores.map((_, 10L, "run")).toSet)
    assert(lost.look(Seq(waiting), 1900).isEmpty, "not before the same time has passed again")
    assert(lost.look(Seq(waiting), 2000).size == 1)
  }

  test("nothing is looked for before the commit, of those who answered, or while it is being completed") {
    val lost = new LostAcknowledgements("query", 500, (version, _) => _ => Seq(StoredHandle(meta(version), 1L)))
    assert(lost.look(Seq(waiting.copy(committedMs = None)), 10000).isEmpty)
    assert(lost.look(Seq(waiting.copy(completing = true)), 20000).isEmpty)
    val handle = StateHandle.of(StoredHandle(meta(10), 1), SnapshotFigures(0, 0, 0))
    val acked = waiting.copy(acked = stores.take(2).map(_ -> Acked(handle, 0)).toMap)
    assert(lost.look(Seq(acked), 30000).map(_.store) == Seq(stores(2)))
  }
}
