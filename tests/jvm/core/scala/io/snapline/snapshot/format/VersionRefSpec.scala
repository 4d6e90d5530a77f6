package io.snapline.snapshot.format

import org.scalatest.funsuite.AnyFunSuite

class VersionRefSpec extends AnyFunSuite {
  private val uid = "019a2b3c-4d5e-7f60-8123-456789abcdef"

  test("names read back") {
    Seq(0L, 1L, 42L, 999999999999999999L).foreach { version =>
      val ref = VersionRef(version, uid)
      assert(VersionRef.parse(ref.changelogName).contains(ref -> VersionRef.Changelog))
      assert(VersionRef.parse(ref.handleName).contains(ref -> VersionRef.Handle))
    }
  }

  test("other names stand for nothing") {
    Seq(
      "",
      "1.delta",
      "1.snapshot",
      "1.zip",
      "1.changelog",
      s"1_$uid.zip",
      s"1_$uid.handle.tmp",
      s".1_$uid.handle.crc",
      s"-1_$uid.handle",
      s"1_${uid.toUpperCase}.handle",
      s"1_${uid.dropRight(1)}.handle",
      s"1000000000000000000_$uid.handle",
      s"../1_$uid.handle",
      s"1_$uid.handle\n",
      "1_../../../../etc/passwd-00000000000000.handle",
      "sst",
      "_metadata"
    ).foreach(name => assert(VersionRef.parse(name).isEmpty, name))
  }

  test("a uid is 36 lower-case characters and nothing else") {
    assert(VersionRef.isUid(uid))
    Seq("", "../../../../../../../../../../etc/pas", uid + "0", uid.replace('-', '/'), s"$uid.handle").foreach { text =>
      assert(!VersionRef.isUid(text), text)
    }
  }
}
