package io.snapline.checkpoint

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.coordinator.CoordinatorFixture
import io.snapline.error.{CheckpointDamaged, StateNotFound, StorageFailure}
import io.snapline.snapshot.format.{Frame, FrameWriter, VersionRef}
import io.snapline.snapshot.merged.MergedPlace
import io.snapline.storage.MemoryStorage

class CheckpointMetadataSpec extends AnyFunSuite with CoordinatorFixture {
  private val mapper = new ObjectMapper

  private def partition(number: Int, files: SharedFile*): PartitionMetadata =
    PartitionMetadata(number, handle(8, files: _*).copy(inFlightBytes = 70L * number))

  private val metadata = CheckpointMetadata(
    checkpoint = 12,
    CheckpointProperties.RetainedOnFailure,
    query = "a query",
    run = "a run",
    batch = 7,
    triggeredMs = 1767225600000L,
    ackedMs = 1767225600100L,
    completedMs = 1767225600200L,
    Seq(
      OperatorMetadata(
        0,
        "symmetricHashJoin",
        2,
        Seq(
          StoreMetadata(
            "left-keyToNumValues",
            Seq(partition(0, file(), SharedFile(clock.next(), 1L << 40, -1)), partition(1))
          ),
          StoreMetadata("right", Seq(partition(0), partition(1, file())))
        )
      ),
      OperatorMetadata(3, "列 \"quoted\"", 1, Seq(StoreMetadata("default", Seq(partition(0, file())))))
    ),
    offsets = "v1\n{\"batchWatermarkMs\":0}\n{\"logOffset\":4}",
    commit = "v1\n{}",
    watermarkMs = 99,
    maxParallelism = 57600,
    WriterVersions("0.4.0", "4.2.0")
  )

  private def write(storage: MemoryStorage, bytes: Array[Byte], id: Long = 12): Unit =
    new FrameWriter(storage.create(CheckpointMetadata.name(id)), Frame.MetadataMagic, false).finish(bytes)

  /** What reading says of metadata that was changed so. */
  private def damaged(change: ObjectNode => Any): String = {
    val json = mapper.readTree(MetadataJson.bytes(metadata)).asInstanceOf[ObjectNode]
    change(json): Unit
    val storage = new MemoryStorage
    write(storage, mapper.writeValueAsBytes(json))
    intercept[CheckpointDamaged](CheckpointMetadata.read(storage, 12)).found
  }

  test("metadata reads back, and says how long it is") {
    val storage = new MemoryStorage
    val bytes = metadata.write(storage)
    assert(storage.files.keySet == Set("chk-12/_metadata") && storage.files("chk-12/_metadata").length == bytes)
    assert(CheckpointMetadata.read(storage, 12) == ((metadata, bytes)))
    assert(storage.open == 0)
    assert(new String(storage.files("chk-12/_metadata"), 0, 8) == "SNAPMETA")
    assert(metadata.completed(bytes).handles.size == 5 && metadata.completed(bytes).metadataBytes == bytes)
    assert(metadata.stateSize == 500 - 100 && metadata.checkpointedSize == 450)
    CheckpointProperties.all.foreach { p =>
      assert(MetadataJson.read(MetadataJson.bytes(metadata.copy(properties = p)), "f").properties == p)
    }
  }

  test(
    "where handles lie in merged files it says so, and has a format number that keeps away whoever does not know of them"
  ) {
    def formatOf(metadata: CheckpointMetadata): Int = {
      val storage = new MemoryStorage
      metadata.write(storage)
      assert(CheckpointMetadata.read(storage, 12)._1 == metadata)
      storage.files("chk-12/_metadata")(8).toInt
    }
    val Seq(join, dedupe) = metadata.operators: @unchecked
    val place = MergedPlace(clock.next(), 1L << 33)
    val inMerged = partition(0, file()).handle.copy(merged = Some(place))
    val withMerged =
      metadata.copy(operators =
        Seq(join, dedupe.copy(stores = Seq(StoreMetadata("default", Seq(PartitionMetadata(0, inMerged))))))
      )
    assert(formatOf(metadata) == 1 && formatOf(withMerged) == 2)
    val names = withMerged.completed(1).names
    assert(names.contains(MergedHandles(VersionRef(8, place.uid))) && names.size == metadata.completed(1).names.size)
    def damagedPlace(change: ObjectNode => Any): String = {
      val json = mapper.readTree(MetadataJson.bytes(withMerged)).asInstanceOf[ObjectNode]
      change(json.at("/operators/1/stores/0/partitions/0/merged").asInstanceOf[ObjectNode]): Unit
      val storage = new MemoryStorage
      write(storage, mapper.writeValueAsBytes(json))
      intercept[CheckpointDamaged](CheckpointMetadata.read(storage, 12)).found
    }
    assert(damagedPlace(_.put("uid", "../../x")).contains("no uid"))
    assert(damagedPlace(_.remove("offset")).contains("offset is missing"))
  }

  test("it is written once, and a write that fails leaves nothing") {
    val storage = new MemoryStorage
    metadata.write(storage)
    intercept[StorageFailure](metadata.write(storage))
    val full = new MemoryStorage
    full.failWriteTo = Some("_metadata")
    intercept[StorageFailure](metadata.write(full))
    assert(full.files.isEmpty && full.open == 0)
    intercept[StateNotFound](CheckpointMetadata.read(full, 12))
  }

  test("what the coordinator has gathered becomes metadata, and that a completed checkpoint again") {
    val c = coordinator()
    val files = Map(left -> handle(1, file()), right -> handle(1, file(), file()))
    c.complete(0, files = files)
    val checkpoint = c.retained.head
    val pending = c.history.snapshot.checkpoints(1).checkpoint
    val made = CheckpointMetadata.of("q", pending, Map(0L -> "dedupe"), 5, "o", "c", 0, 64, WriterVersions("1", "4"))
    assert(made.operators.map(o => (o.id, o.name, o.parallelism, o.stores.map(_.name))) ==
      Seq((0, "dedupe", 2, Seq("default"))))
    val storage = new MemoryStorage
    val bytes = made.write(storage)
    val (read, _) = CheckpointMetadata.read(storage, 1)
    assert(read == made)
    assert(read.completed(bytes) == checkpoint.copy(completedMs = 5, metadataBytes = bytes))
  }

  test("one byte less, or another one, is damage") {
    val storage = new MemoryStorage
    metadata.write(storage)
    val name = CheckpointMetadata.name(12)
    val whole = storage.files(name)
    def fails(what: String): Unit = {
      intercept[CheckpointDamaged] {
        CheckpointMetadata.read(storage, 12)
        fail(what)
      }
      ()
    }
    for (length <- 0 until whole.length by 7) {
      storage.files(name) = whole.take(length)
      fails(s"cut to $length")
    }
    for (at <- whole.indices by 3 if at < 8 || at > 9) { // bytes 8 and 9: the format number, below
      storage.files(name) = whole.updated(at, (whole(at) ^ 0x10).toByte)
      fails(s"byte $at")
    }
    val handles = new FrameWriter(new MemoryStorage().create("x"), Frame.HandleMagic, false)
    handles.abandon()
    storage.files.remove(name)
    new FrameWriter(storage.create(name), Frame.HandleMagic, false).finish(MetadataJson.bytes(metadata))
    fails("another kind of file")
  }

  test("a member that is missing or of another type is damage, and is named") {
    def members(json: JsonNode, path: Seq[String]): Seq[Seq[String]] = json match {
      case o: ObjectNode =>
        val names = Seq.newBuilder[String]
        o.fieldNames().forEachRemaining(name => names += name)
        names.result().flatMap(name => (path :+ name) +: members(o.get(name), path :+ name))
      case a: ArrayNode if a.size > 0 => members(a.get(0), path :+ "0")
      case _ => Nil
    }
    def at(json: JsonNode, path: Seq[String]): ObjectNode =
      path.foldLeft(json)((node, name) => if (name == "0") node.get(0) else node.get(name)).asInstanceOf[ObjectNode]
    val derived = Set("stateSize", "checkpointedSize")
    val all = members(mapper.readTree(MetadataJson.bytes(metadata)), Nil).filterNot(path => derived(path.head))
    assert(all.size > 35)
    all.foreach { path =>
      assert(damaged(json => at(json, path.init).remove(path.last)).contains(s"${path.last} is missing"), path)
      assert(damaged(json => at(json, path.init).putNull(path.last)).contains(s"${path.last} is null"), path)
      assert(damaged(json => at(json, path.init).put(path.last, -1)).contains("cannot be read"), path)
    }
  }

  test("members a later version may add are ignored") {
    val json = mapper.readTree(MetadataJson.bytes(metadata)).asInstanceOf[ObjectNode]
    json.put("later", 1).withArray("operators").get(0).asInstanceOf[ObjectNode].putObject("later")
    assert(MetadataJson.read(mapper.writeValueAsBytes(json), "f") == metadata)
  }

  test("what does not fit together is damage") {
    def operator(json: ObjectNode): ObjectNode = json.get("operators").get(0).asInstanceOf[ObjectNode]
    def store(json: ObjectNode): ObjectNode = operator(json).get("stores").get(0).asInstanceOf[ObjectNode]
    def first(json: ObjectNode): ObjectNode = store(json).get("partitions").get(0).asInstanceOf[ObjectNode]
    assert(damaged(_.put("checkpoint", 13)).contains("it holds checkpoint 13"))
    assert(damaged(_.put("kind", "handle")).contains("kind is handle"))
    assert(damaged(_.put("properties", "SOME")).contains("properties is SOME"))
    assert(damaged(operator(_).put("id", 3)).contains("operator 3 twice"))
    assert(damaged(store(_).put("name", "right")).contains("a store twice"))
    assert(damaged(operator(_).putArray("stores")).contains("has no store"))
    assert(damaged(operator(_).put("parallelism", 3)).contains("parallelism 3"))
    assert(damaged(first(_).put("partition", 1)).contains("parallelism 2"))
    assert(damaged(first(_).put("version", 7)).contains("before batch 7"))
    assert(damaged(first(_).put("uid", "../../x")).contains("no uid"))
    Seq("", "[]", "null", "{", "7").foreach { text =>
      val storage = new MemoryStorage
      write(storage, text.getBytes("UTF-8"))
      intercept[CheckpointDamaged](CheckpointMetadata.read(storage, 12))
    }
  }

  test("folders have the numbers of their checkpoints") {
    assert(CheckpointMetadata.number(CheckpointMetadata.folder(7)).contains(7L))
    Seq("chk-", "chk--1", "chk-x", "x", "chk-1/", "chk-1234567890123456789", "replay").foreach { name =>
      assert(CheckpointMetadata.number(name).isEmpty, name)
    }
    assert(VersionRef.parse(CheckpointMetadata.name(1)).isEmpty)
  }
}
