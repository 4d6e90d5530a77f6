package io.snapline.spark.protocol

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreId
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.error.{CheckpointDamaged, InternalError, StateNotFound}
import io.snapline.snapshot.format.VersionRef
import io.snapline.storage.HadoopCheckpointStorage

class RestorePointSpec extends AnyFunSuite {
  private val configuration = new Configuration
  private val root = new Path(Files.createTempDirectory("restore").toUri)
  private val named = RestoreFrom(s"$root/snapline/chk-3/_metadata", version = 7)
  private val file = java.nio.file.Path.of(root.toUri).resolve("snapline/chk-3/_metadata")
  private val store = StateStoreId(s"$root/state", 0, 0)
  private val ref = VersionRef(8, "01a21dd8-0df0-708d-bbae-50686ea04994")

  private def write(): Unit = CheckpointMetadata(
    3,
    CheckpointProperties.RetainedOnFailure,
    "query",
    "run",
    batch = 6,
    1,
    2,
    3,
    Seq(OperatorMetadata(
      0,
      "count",
      1,
      Seq(StoreMetadata("default", Seq(PartitionMetadata(0, StateHandle(ref, Nil, 1, 0, 0, 0, 0, 1)))))
    )),
    "v1\n{}",
    "v1\n{}",
    0,
    8,
    WriterVersions("0", "0")
  ).write(new HadoopCheckpointStorage(new Path(root, "snapline"), configuration)): Unit

  test("the checkpoint that was subsumed since is no loss for a later version, and none of its own loads without it") {
    write()
    val point = RestorePoint.read(named, 7, configuration).get
    assert(point.handle(store).map(_.ref).contains(ref))
    assert(point.ahead(store).contains(ref))
    Files.delete(file)
    assert(RestorePoint.read(named, 8, configuration).isEmpty)
    assertThrows[StateNotFound](RestorePoint.read(named, 7, configuration))
  }

  test("one that is damaged is not one that is gone") {
    Files.deleteIfExists(file): Unit
    write()
    Files.write(file, Files.readAllBytes(file).take(50))
    assertThrows[CheckpointDamaged](RestorePoint.read(named, 8, configuration))
    assertThrows[InternalError](RestorePoint.read(named.copy(metadata = s"$root/x/_metadata"), 8, configuration))
  }
}
