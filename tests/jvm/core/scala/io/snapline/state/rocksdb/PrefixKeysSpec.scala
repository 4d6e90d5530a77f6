package io.snapline.state.rocksdb

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.immutable.TreeSet
import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state.timeindex.IndexMemory

class PrefixKeysSpec extends AnyFunSuite {
  private val PrefixBytes = 3

  private def bytes(text: String): Array[Byte] = text.getBytes(UTF_8)

  private def text(bytes: Array[Byte]): String = new String(bytes, UTF_8)

  // A limit is passed by one prefix at most, which is longer where it has more keys.
  for {
    (limit, room) <- Seq((1L << 20) -> "roomy", 3000L -> "little memory", 0L -> "hardly any")
    (filterLimit, filters) <- Seq((1L << 20) -> "filters", 1000L -> "few filters", 0L -> "no filters")
    seed <- 1 to 5
  } test(s"what is known is so, after random changes: $room, $filters, seed $seed") {
    val random = new Random(seed)
    val memory = new IndexMemory(limit)
    val filterMemory = new IndexMemory(filterLimit)
    val unlisted = new LearnedFilter(filterMemory, 10)
    val prefixes = new PrefixKeys((_, _, _) => PrefixBytes, memory, unlisted)
    if (seed % 2 == 0) prefixes.none()
    var model = TreeSet.empty[String]
    val unapplied = mutable.Set.empty[String]
    var (answers, absences) = (0, 0)
    var walkedTo = ""

    def keysOf(prefix: String): Seq[String] = model.iteratorFrom(prefix).takeWhile(_.startsWith(prefix)).toSeq

    def walk(): Unit = unlisted.step { walkedTo = "" } { due =>
      val passed = model.iteratorFrom(walkedTo).take(due.toInt).takeWhile { key =>
        prefixes.passed(bytes(key))
        walkedTo = key + "."
        unlisted.goesOn
      }.size
      passed < due && unlisted.goesOn
    }

    for (_ <- 0 until 20000) {
      val prefix = f"p${random.nextInt(if (random.nextInt(50) == 0) 900 else 40)}%02d".take(PrefixBytes)
      val key = prefix + random.nextInt(if (prefix == "p07") 200 else 6)
      val padded = bytes(s"..$key..")
      random.nextInt(11) match {
        case 0 | 1 | 2 =>
          if (model(key)) prefixes.updated(padded, 2, key.length) else prefixes.added(padded, 2, key.length)
          model += key
          unapplied += prefix
        case 3 | 4 | 5 =>
          if (model(key)) {
            prefixes.removed(padded, 2, key.length)
            model -= key
            unapplied += prefix
          }
        case 6 | 7 | 8 =>
          val known = prefixes.find(bytes(prefix))
          if (known != null) {
            answers += 1
            if (known.isEmpty) absences += 1
            assert(known.toSeq.map(text) == keysOf(prefix))
          } else {
            if (prefixes.isApplied(bytes(prefix))) assert(!unapplied(prefix))
            else {
              prefixes.applied()
              unapplied.clear()
            }
            if (keysOf(prefix).isEmpty) unlisted.missed()
            prefixes.learn(bytes(prefix), keysOf(prefix).map(bytes).toArray)
          }
        case 9 => if (prefixes.lack(padded, 2, key.length)) assert(!model(key))
        case 10 =>
          random.nextInt(500) match {
            case 0 => prefixes.again()
            case 1 =>
              val from = f"p${random.nextInt(40)}%02d"
              model --= model.range(from, from + "4").toSeq
              unapplied += from
              prefixes.someRemoved()
            case other => if (other % 20 == 0) walk()
          }
      }
      assert(memory.used <= limit + 10000 && filterMemory.used <= filterLimit)
      assert(prefixes.bytes == memory.used + filterMemory.used)
    }
    assert(answers > 0 || limit == 0)
    assert(absences > 0 || filterLimit == 0)
    prefixes.close()
    assert(memory.used == 0 && filterMemory.used == 0)
  }

  private def roomy(known: Boolean): PrefixKeys = {
    val prefixes = new PrefixKeys(
      (_, _, _) => 1,
      new IndexMemory(1 << 20),
      new LearnedFilter(new IndexMemory(1 << 20), 0)
    )
    if (known) prefixes.none()
    prefixes
  }

  test("where no prefix had a key, each that was put is known, and each other has none") {
    val prefixes = roomy(known = true)
    assert(prefixes.find(bytes("a")).isEmpty)
    prefixes.added(bytes("a1"), 0, 2)
    prefixes.added(bytes("a0"), 0, 2)
    assert(prefixes.find(bytes("a")).toSeq.map(text) == Seq("a0", "a1"))
    assert(prefixes.find(bytes("b")).isEmpty && prefixes.lack(bytes("b1"), 0, 2))
    Seq("a0", "a1").foreach(key => prefixes.removed(bytes(key), 0, 2))
    assert(prefixes.find(bytes("a")).isEmpty)
  }

  test("prefixes that nobody scans have no list") {
    val prefixes = roomy(known = true)
    (10 until 100).foreach(i => prefixes.added(bytes(s"a$i"), 0, 3))
    assert(prefixes.find(bytes("a")) == null && prefixes.find(bytes("b")).isEmpty)
  }

  test("a list that grows too long is forgotten, and a scan that is under way keeps its own") {
    val prefixes = roomy(known = false)
    prefixes.learn(bytes("a"), Array(bytes("a0")))
    val before = prefixes.find(bytes("a"))
    (1 until PrefixKeys.MostKeys).foreach(i => prefixes.added(bytes(f"a$i%03d"), 0, 4))
    assert(prefixes.find(bytes("a")).length == PrefixKeys.MostKeys)
    assert(before.toSeq.map(text) == Seq("a0"))
    prefixes.added(bytes("a999"), 0, 4)
    assert(prefixes.find(bytes("a")) == null)
    assert(!prefixes.isApplied(bytes("a")))
  }
}
