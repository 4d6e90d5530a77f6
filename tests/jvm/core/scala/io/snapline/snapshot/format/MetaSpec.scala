package io.snapline.snapshot.format

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.CheckpointDamaged
import io.snapline.state.FamilyDescriptor

class MetaSpec extends AnyFunSuite {
  private val mapper = new ObjectMapper
  private val clock = new UidClock
  private val families = Seq(
    FamilyState(FamilyDescriptor(0, "default", keyGroups = true, multi = false, internal = false), 5),
    FamilyState(
      FamilyDescriptor(65535, "$列 \"quoted\"\n", keyGroups = false, multi = true, internal = true),
      Long.MaxValue
    )
  )
  private val origin = Origin("1.2.3", "a run", Map("encoding" -> "unsaferow", "b" -> ""))

  private val changelog = ChangelogMeta(
    VersionRef(7, clock.next()),
    Some(VersionRef(6, clock.next())),
    Some(VersionRef(3, clock.next())),
    families,
    entries = 12,
    rawBytes = 1L << 40,
    snapshotDistance = 4,
    changelogBytes = 99,
    created = 1767225600000L,
    origin
  )

  private val handle = HandleMeta(
    VersionRef(7, clock.next()),
    families,
    "rocksdb",
    Seq(TableFile("000012.sst", clock.next(), 123, -5), TableFile("000013.sst", clock.next(), 1L << 33, Int.MaxValue)),
    Seq("CURRENT" -> 16, "MANIFEST-000005" -> 300, "OPTIONS-000007" -> 0),
    uploadedFiles = 1,
    uploadedBytes = 123,
    created = 1767225600000L,
    origin
  )

  private def changed(bytes: Array[Byte])(change: ObjectNode => Any): Array[Byte] = {
    val json = mapper.readTree(bytes).asInstanceOf[ObjectNode]
    change(json): Unit
    mapper.writeValueAsBytes(json)
  }

  private def damagedChangelog(bytes: Array[Byte]): CheckpointDamaged =
    intercept[CheckpointDamaged](Meta.changelog(bytes, "the file"))
  private def damagedHandle(bytes: Array[Byte]): CheckpointDamaged =
    intercept[CheckpointDamaged](Meta.handle(bytes, "the file"))

  test("metas read back") {
    assert(Meta.changelog(Meta.bytes(changelog), "f") == changelog)
    val first = changelog.copy(parent = None, snapshot = None, families = Nil)
    assert(Meta.changelog(Meta.bytes(first), "f") == first)
    assert(Meta.handle(Meta.bytes(handle), "f") == handle)
    assert(handle.stateBytes == 123 + (1L << 33))
  }

  test("members a later version may add are ignored") {
    val more = changed(Meta.bytes(changelog)) { json =>
      json.put("later", 1).putObject("alsoLater").put("deep", "x")
      json.get("families").get(0).asInstanceOf[ObjectNode].put("later", true)
    }
    assert(Meta.changelog(more, "f") == changelog)
    val moreHandle = changed(Meta.bytes(handle)) { json =>
      json.putArray("later")
      json.get("files").get(0).asInstanceOf[ObjectNode].put("later", true)
    }
    assert(Meta.handle(moreHandle, "f") == handle)
  }

  test("a member that is missing is damage, and is named") {
    val written = mapper.readTree(Meta.bytes(changelog))
    val needed = Seq(
      "version",
      "uid",
      "families",
      "entries",
      "rawBytes",
      "snapshotDistance",
      "changelogBytes",
      "created",
      "writer",
      "run",
      "properties"
    )
    needed.foreach { member =>
      assert(written.has(member))
      assert(damagedChangelog(changed(Meta.bytes(changelog))(_.remove(member))).found.contains(s"$member is missing"))
    }
    Seq(
      "version",
      "uid",
      "families",
      "backend",
      "files",
      "local",
      "uploaded",
      "created",
      "writer",
      "run",
      "properties"
    ).foreach { member =>
      assert(damagedHandle(changed(Meta.bytes(handle))(_.remove(member))).found.contains(s"$member is missing"))
    }
    for (
      array <- Seq("files", "families", "local");
      member <- Seq("name", "length", "uid", "crc32c", "id", "keys", "multi")
    ) {
      val item = mapper.readTree(Meta.bytes(handle)).get(array).get(0)
      if (item.has(member)) {
        damagedHandle(changed(Meta.bytes(handle))(_.get(array).get(0).asInstanceOf[ObjectNode].remove(member)))
      }
    }
  }

  test("what is no JSON object is damage") {
    Seq("", " ", "null", "7", "[]", "[{}]", "\"x\"", "{", "{}", "\u0000", "[" * 100000, "{\"a\":" * 100000).foreach {
      text =>
        damagedChangelog(text.getBytes("UTF-8"))
        damagedHandle(text.getBytes("UTF-8"))
    }
  }

  test("a name that leads out of its folder is refused") {
    Seq(
      "../x",
      "..",
      ".",
      "/etc/passwd",
      "a/b",
      "a\\b",
      "",
      "x\u0000",
      "~",
      "000012.sst/..",
      "..sst",
      "a b",
      "CURRENT\n"
    ).foreach { name =>
      Seq("files", "local").foreach { array =>
        val hostile = changed(Meta.bytes(handle))(_.get(array).get(0).asInstanceOf[ObjectNode].put("name", name))
        assert(damagedHandle(hostile).found.contains("no file name"), s"$array '$name'")
      }
    }
    Seq("../../../../../../../../../../etc/pas", "", "x", clock.next().toUpperCase).foreach { uid =>
      damagedHandle(changed(Meta.bytes(handle))(_.get("files").get(0).asInstanceOf[ObjectNode].put("uid", uid)))
      damagedHandle(changed(Meta.bytes(handle))(_.put("uid", uid)))
      damagedChangelog(changed(Meta.bytes(changelog))(_.get("parent").asInstanceOf[ObjectNode].put("uid", uid)))
    }
  }

  test("a family id out of its range is damage") {
    Seq(-1, 65536, Int.MaxValue, Int.MinValue).foreach { id =>
      damagedChangelog(changed(Meta.bytes(changelog))(_.get("families").get(0).asInstanceOf[ObjectNode].put("id", id)))
    }
    damagedChangelog(changed(Meta.bytes(changelog))(_.get("families").get(0).asInstanceOf[ObjectNode].put("id", "x")))
  }

  test("a member of another type is damage") {
    Seq("version", "entries", "rawBytes", "snapshotDistance", "created").foreach { member =>
      damagedChangelog(changed(Meta.bytes(changelog))(_.put(member, "many")))
      damagedChangelog(changed(Meta.bytes(changelog))(_.putNull(member)))
    }
    Seq("families", "properties").foreach { member =>
      damagedChangelog(changed(Meta.bytes(changelog))(_.put(member, "x")))
      damagedChangelog(changed(Meta.bytes(changelog))(_.putNull(member)))
    }
    Seq("files", "local").foreach { member =>
      damagedHandle(changed(Meta.bytes(handle))(_.put(member, "x")))
      damagedHandle(changed(Meta.bytes(handle))(_.putNull(member)))
      damagedHandle(changed(Meta.bytes(handle))(_.get(member).get(0).asInstanceOf[ObjectNode].put("length", -1)))
      damagedHandle(changed(Meta.bytes(handle))(_.get(member).get(0).asInstanceOf[ObjectNode].put("length", "1")))
    }
  }
}
