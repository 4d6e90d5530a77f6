package io.snapline.promises

import java.io.{File, RandomAccessFile}
import java.util.Arrays

import scala.util.Random

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error._
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store._

/** No damage passes unseen: every byte read back is verified; the newest sound checkpoint is used, and the log says so.
  *
  * A store of six versions with snapshots of the second and the fourth. One file after another is damaged, the newest
  * version is loaded by a process of its own, and the file is put right again.
  */
abstract class Promise4NoDamagePassesOn(backend: TestBackend, where: TestStorage = TestStorage.OnDisk)
    extends AnyFunSuite
    with BeforeAndAfterAll {
  private val fixture =
    new StoreFixture(StateSettings(policy = SnapshotPolicy(minChangelogs = 1000)), backend = backend, where = where)
  private val Newest = 6L
  private val random = new Random(4)
  private var contents = Map.empty[Long, Seq[String]]
  private var refs = Map.empty[Long, VersionRef]
  private var tablesOf = Map.empty[Long, Seq[String]]

  override def beforeAll(): Unit = {
    val state = fixture.open()
    (1L to Newest).foreach { version =>
      state.load(version - 1, None)
      val known = tables.toSet
      val family = state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      (0 until 60).foreach { i =>
        family.put(s"key-${(version * 37 + i * 7) % 150}".getBytes, random.nextBytes(1 + i % 12))
      }
      (0 until 5).foreach(i => family.delete(s"key-${version * 11 + i}".getBytes))
      refs += version -> state.commit(forceSnapshot = version == 2 || version == 4)
      contents += version -> lines(state)
      tablesOf += version -> tables.filterNot(known)
    }
    state.close()
    assert(tablesOf(2).nonEmpty && tablesOf(4).nonEmpty)
  }

  override def afterAll(): Unit = fixture.close()

  private def lines(state: VersionedState): Seq[String] = (0 until 150).flatMap { i =>
    Option(state.backend.family("default").get(s"key-$i".getBytes)).map(value =>
      s"$i ${Arrays.hashCode(value)} ${value.length}"
    )
  }

  private def stored: StoredFiles = fixture.stored
  private def tables: Seq[String] = stored.tables
  private def changelog(version: Long): String = refs(version).changelogName
  private def handle(version: Long): String = refs(version).handleName
  private def bytes(file: String): Array[Byte] = stored.bytes(file)
  private def length(file: String): Int = stored.lengths(file).toInt
  private def write(file: String, bytes: Array[Byte]): Unit = stored.write(file, bytes)
  private def delete(file: String): Unit = stored.delete(file)
  private def flip(file: String, at: Int, mask: Int): Unit = {
    val damaged = bytes(file)
    damaged(at) = (damaged(at) ^ mask).toByte
    write(file, damaged)
  }

  /** Puts the files right afterwards, and sees to it that loading changed nothing. */
  private def damaging[A](files: String*)(damage: => Any)(body: => A): A = {
    val whole = files.map(file => file -> bytes(file))
    try {
      damage: Unit
      val before = everything
      val result = body
      assert(everything == before, "loading changes nothing")
      assert(fixture.localFolders.isEmpty, "local files are gone")
      result
    } finally whole.foreach { case (file, content) => write(file, content) }
  }

  private def everything: Map[String, Long] = stored.lengths

  /** Right: the content and how many changelogs were applied. Left: the error. */
  private def load(version: Long = Newest, byUid: Boolean = true): Either[SnaplineException, (Seq[String], Int)] = {
    val state = fixture.open()
    try {
      state.load(version, if (byUid) Some(refs(version).uid) else None)
      Right((lines(state), state.stats.replayed))
    } catch { case e: SnaplineException => Left(e) }
    finally state.close()
  }

  /** The newest snapshot is passed over; an older one, or none, and more changelogs serve. */
  private def assertFallsBack(what: String, replayed: Int = 4): Unit = {
    val (result, log) = LogProbe.during(load())
    val (content, applied) = result.fold(e => throw new AssertionError(what, e), identity)
    assert(content == contents(Newest), what)
    assert(applied == replayed, what)
    assert(log.exists(_.contains("is set aside")), s"$what: ${log.mkString("; ")}")
  }

  /** The error says which version loads, and it does. */
  private def assertDamaged(what: String, sound: Long): CheckpointDamaged = load() match {
    case Left(e: CheckpointDamaged) =>
      assert(e.action.startsWith(s"version $sound is the newest that loads"), what)
      assert(load(sound).map(_._1) == Right(contents(sound)), what)
      e
    case other => fail(s"$what: $other")
  }

  test("undamaged, the newest version is its newest snapshot and what follows") {
    assert(load() == Right((contents(Newest), 2)))
    (1L to Newest).foreach(version => assert(load(version).map(_._1) == Right(contents(version))))
  }

  test("a flipped byte of a changelog that is needed") {
    val file = changelog(6)
    bytes(file).indices.foreach { at =>
      damaging(file)(flip(file, at, 1 << (at % 8))) {
        if (at % 50 == 0) assertDamaged(s"byte $at", sound = 5): Unit
        else assert(load().left.exists(_.isInstanceOf[CheckpointDamaged]), s"byte $at")
      }
    }
    damaging(changelog(5))(flip(changelog(5), 100, 1))(assertDamaged("one further down", sound = 4))
  }

  test("a flipped byte of a changelog that a snapshot stands for") {
    bytes(changelog(3)).indices.by(37).foreach { at =>
      damaging(changelog(3))(flip(changelog(3), at, 255)) {
        assert(load() == Right((contents(Newest), 2)), s"byte $at")
      }
    }
  }

  test("a flipped byte of the newest handle") {
    val length = this.length(handle(4))
    ((0 until 30) ++ (30 until length - 40 by 97) ++ (length - 40 until length)).foreach { at =>
      damaging(handle(4))(flip(handle(4), at, 1 << (at % 8)))(assertFallsBack(s"byte $at of $length"))
    }
  }

  test("a flipped byte of a table file") {
    tablesOf(4).foreach { table =>
      val length = this.length(table)
      (Seq(0, 1, length - 1, length - 8, length - 53) ++ (0 until length by 512) ++
        Seq.fill(20)(random.nextInt(length))).foreach { at =>
        damaging(table)(flip(table, at, 1 << random.nextInt(8)))(assertFallsBack(s"byte $at of $length"))
      }
    }
    // One that both snapshots have: the changelogs alone serve.
    damaging(tablesOf(2): _*)(flip(tablesOf(2).head, 99, 1))(
      if (backend.shares) assertFallsBack("one of the first snapshot", replayed = 6)
      else assert(load() == Right((contents(Newest), 2)))
    )
  }

  test("files cut short, grown, empty") {
    def cut(file: String, length: Int): Unit = write(file, bytes(file).take(length))
    def lengths(file: String): Seq[Int] = {
      val length = this.length(file)
      (Seq(0, 1, 15, 16, 17, 31, 32, 47, 48, 49, length - 1, length - 31, length - 32, length - 33) ++
        Seq.fill(10)(random.nextInt(length))).filter(l => l >= 0 && l < length)
    }
    lengths(changelog(6)).foreach { length =>
      damaging(changelog(6))(cut(changelog(6), length))(assertDamaged(s"$length bytes", sound = 5))
    }
    for (file <- handle(4) +: tablesOf(4); length <- lengths(file)) {
      damaging(file)(cut(file, length))(assertFallsBack(s"$file of $length bytes"))
    }
    damaging(changelog(6))(write(changelog(6), bytes(changelog(6)) :+ 0.toByte))(assertDamaged("one byte more", 5))
    (handle(4) +: tablesOf(4)).foreach { file =>
      damaging(file)(write(file, bytes(file) ++ bytes(file)))(assertFallsBack(s"$file twice"))
    }
  }

  if (where eq TestStorage.OnDisk) test("files that grew beyond all memory") {
    def grow(file: String): Unit = {
      val access = new RandomAccessFile(new File(fixture.folder, file), "rw")
      try access.setLength(64L << 30)
      finally access.close()
    }
    (handle(4) +: tablesOf(4)).foreach { file =>
      damaging(file)(grow(file))(assertFallsBack(s"$file of 64 GiB"))
    }
    damaging(changelog(6))(grow(changelog(6)))(assertDamaged("a changelog of 64 GiB", 5))
  }

  test("files that are gone") {
    (handle(4) +: tablesOf(4)).foreach { file =>
      damaging(file)(delete(file)) {
        if (file == handle(4)) assert(load() == Right((contents(Newest), 4)))
        else assertFallsBack(s"without $file")
      }
    }
    damaging(changelog(5))(delete(changelog(5)))(assertDamaged("without a changelog", 4))
    damaging(changelog(6))(delete(changelog(6))) {
      val error = load().left.toOption.get
      assert(error.isInstanceOf[StateNotFound] && error.found.contains("newest there is 5"))
    }
  }

  test("files with the content of another of their kind") {
    damaging(handle(4))(write(handle(4), bytes(handle(2))))(assertFallsBack("the handle of version 2"))
    damaging(changelog(6))(write(changelog(6), bytes(changelog(5))))(assertDamaged("the changelog of version 5", 5))
    damaging(changelog(5), changelog(6)) {
      val five = bytes(changelog(5))
      write(changelog(5), bytes(changelog(6)))
      write(changelog(6), five)
    }(assertDamaged("two changelogs swapped", 4))
    val (a, b) = (tablesOf(2).head, tablesOf(4).head)
    damaging(a, b) {
      val first = bytes(a)
      write(a, bytes(b))
      write(b, first)
    }(assertFallsBack("two table files swapped", replayed = 6))
    damaging(handle(4))(write(handle(4), bytes(changelog(4))))(assertFallsBack("a changelog for a handle"))
    damaging(changelog(6))(write(changelog(6), bytes(handle(4))))(assertDamaged("a handle for a changelog", 5))
  }

  test("foreign files") {
    Seq("LZ4Block", "PK\u0003\u0004", "", "{\"kind\":\"handle\"}", "SNAPCLOG").foreach { begin =>
      val foreign = begin.getBytes("ISO-8859-1") ++ random.nextBytes(300)
      Seq(changelog(6), handle(4)).foreach { file =>
        damaging(file)(write(file, foreign)) {
          load() match {
            case Right((content, _)) => assert(file == handle(4) && content == contents(Newest))
            case Left(_: CheckpointDamaged | _: NotACheckpoint | _: UnsupportedVersion) => ()
            case Left(other) => fail(s"$begin", other)
          }
        }
      }
      tablesOf(4).foreach(table => damaging(table)(write(table, foreign))(assertFallsBack(s"$begin for a table file")))
    }
  }

  test("every snapshot damaged, every changelog whole") {
    damaging(handle(2), handle(4)) {
      flip(handle(2), 20, 1)
      flip(handle(4), 20, 1)
    }(assertFallsBack("no snapshot at all", replayed = 6))
  }

  test("damage of several files at once, at random") {
    val all = (1L to Newest).map(changelog) ++ Seq(handle(2), handle(4)) ++ tables
    (0 until 120).foreach { seed =>
      val dice = new Random(seed)
      val chosen = dice.shuffle(all).take(1 + dice.nextInt(4))
      damaging(chosen: _*) {
        chosen.foreach { file =>
          dice.nextInt(4) match {
            case 0 => flip(file, dice.nextInt(length(file)), 1 + dice.nextInt(255))
            case 1 => write(file, bytes(file).take(dice.nextInt(length(file))))
            case 2 => delete(file)
            case _ => write(file, dice.nextBytes(dice.nextInt(3000)))
          }
        }
      } {
        (Newest to 4L by -1).foreach { version =>
          load(version, byUid = dice.nextBoolean()) match {
            case Right((content, _)) => assert(content == contents(version), s"seed $seed")
            case Left(_: CheckpointDamaged | _: StateNotFound) => ()
            case Left(other) => throw new AssertionError(s"seed $seed", other)
          }
        }
      }
    }
  }

  test("another attempt of the version serves where the latest is damaged") {
    val state = fixture.open()
    state.load(Newest - 1, None)
    state.backend.family("default").put("key-1".getBytes, Array[Byte](1))
    val later = state.commit()
    state.close()
    val file = later.changelogName
    try {
      assert(later.uid > refs(Newest).uid)
      write(file, bytes(file).dropRight(5))
      val (result, log) = LogProbe.during(load(byUid = false))
      assert(result.map(_._1) == Right(contents(Newest)) && log.exists(_.contains("is set aside")))
    } finally delete(file)
  }
}

class Promise4NoDamagePassesSpec extends Promise4NoDamagePassesOn(TestBackend.RocksDb)

class Promise4NoDamagePassesOnHashMapSpec extends Promise4NoDamagePassesOn(TestBackend.HashMap)

class Promise4NoDamagePassesOnNestedHashMapSpec extends Promise4NoDamagePassesOn(TestBackend.NestedHashMap)
