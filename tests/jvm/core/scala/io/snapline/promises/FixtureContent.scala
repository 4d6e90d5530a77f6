package io.snapline.promises

import java.io.File
import java.nio.file.{Files, StandardCopyOption}

import io.snapline.snapshot.format.ChangelogFeed
import io.snapline.snapshot.store.{SnapshotPolicy, StateSettings, StoreFixture, TestBackend, VersionedState}
import io.snapline.state.ColumnFamily

/** What the stores under `resources/fixtures` hold: every kind of change, over five versions with a snapshot in the
  * middle.
  *
  * A fixture is written once, by the release that brings a format in (`FixtureContent.main`), and never again.
  */
object FixtureContent {
  val LastVersion = 5L

  private def key(n: Int): Array[Byte] = f"key-$n%03d".getBytes("UTF-8")
  private def value(n: Int, version: Long): Array[Byte] = s"value-$n-$version".getBytes("UTF-8")

  /** Makes the changes that lead to a version. */
  def change(state: VersionedState, version: Long): Unit = {
    val single = state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
    val lists = state.backend.createFamily("lists", keyGroups = true, multi = true, internal = false)
    val hidden = state.backend.createFamily("$hidden", keyGroups = false, multi = false, internal = true)
    (0 until 40 by version.toInt).foreach(n => single.put(key(n), value(n, version)))
    (0 until 10).foreach(n => lists.merge(Array[Byte](0, n.toByte) ++ key(n), value(n, version)))
    hidden.put(key(version.toInt), Array.emptyByteArray)
    step(single, lists, version)
    if (version == 2) single.delete(key(3)): Unit
    if (version == 4) single.deleteRange(key(10), key(20))
    if (version == 5) lists.delete(Array[Byte](0, 9) ++ key(9)): Unit
  }

  /** Steps on the way, which a change feed shows and the state does not. */
  private def step(single: ColumnFamily, lists: ColumnFamily, version: Long): Unit = {
    val (often, absent) = (key(900), key(901))
    (1 to 3).foreach(n => single.put(often, value(n, version)))
    single.delete(often): Unit
    single.delete(absent): Unit
    if (version % 2 == 1) single.put(often, value(4, version))
    val list = Array[Byte](0, 99) ++ often
    lists.delete(list): Unit
    (5 to 6).foreach(n => lists.merge(list, value(n, version)))
    if (version == 3) lists.put(list, value(7, version))
  }

  /** What a change feed shows of all versions, as lines `version family operation key value`. */
  def feed(fixture: StoreFixture): Seq[String] =
    new ChangelogFeed(fixture.storage).read(1, LastVersion, None).map { change =>
      val value = Option(change.value).fold("-")(hex)
      s"${change.version} ${change.family} ${change.op} ${hex(change.key)} $value"
    }.toSeq

  /** The rows of a loaded store as lines `family key value`, in order. */
  def lines(state: VersionedState): Seq[String] = state.backend.families.flatMap { family =>
    val cursor = family.iterate()
    val rows = Seq.newBuilder[String]
    while (cursor.next()) rows += s"${family.descriptor.name} ${hex(cursor.key)} ${hex(cursor.value)}"
    rows.result()
  }

  private def hex(bytes: Array[Byte]): String = bytes.map(b => f"${b & 0xff}%02x").mkString

  /** Copies a fixture's store to where a test may open it. */
  def copy(from: File, to: File): Unit = {
    to.mkdirs()
    from.listFiles().foreach { file =>
      if (file.isDirectory) copy(file, new File(to, file.getName))
      else Files.copy(file.toPath, new File(to, file.getName).toPath, StandardCopyOption.REPLACE_EXISTING)
    }
  }

  /** The backend a fixture was written by, and its snapshots: the heap's second one stands on the first. */
  def backend(name: String): TestBackend = if (name.endsWith("-hashmap")) TestBackend.HashMap else TestBackend.RocksDb
  private def snapshots(of: TestBackend): Set[Long] = if (of == TestBackend.HashMap) Set(2, 3) else Set(3)

  /** Writes a fixture of today's format into a folder that does not exist yet. */
  def main(arguments: Array[String]): Unit = {
    val target = new File(arguments.head)
    val by = backend(target.getName)
    require(!target.exists(), s"$target exists: fixtures are never written again")
    val fixture = new StoreFixture(StateSettings(policy = SnapshotPolicy(minChangelogs = 1000)), backend = by)
    try {
      val state = fixture.open()
      (1L to LastVersion).foreach { version =>
        state.load(version - 1, None)
        change(state, version)
        state.commit(forceSnapshot = snapshots(by)(version)): Unit
      }
      state.load(LastVersion, None)
      copy(fixture.folder, new File(target, "store"))
      Seq("expected.txt" -> lines(state), "feed.txt" -> feed(fixture)).foreach { case (name, content) =>
        Files.write(new File(target, name).toPath, content.mkString("", "\n", "\n").getBytes("UTF-8")): Unit
      }
    } finally fixture.close()
  }
}
