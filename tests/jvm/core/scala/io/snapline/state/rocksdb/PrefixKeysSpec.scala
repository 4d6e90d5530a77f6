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
  for ((limit, room) <- Seq((1L << 20) -> "roomy", 3000L -> "little memory", 0L -> "hardly any"); seed <- 1 to 5)
    test(s"what is known is so, after random changes: $room, seed $seed") {
      val random = new Random(seed)
      val memory = new IndexMemory(limit)
      val prefixes = new PrefixKeys((_, _, _) => PrefixBytes, memory)
      var model = TreeSet.empty[String]
      val unapplied = mutable.Set.empty[String]
      var answers = 0

      def keysOf(prefix: String): Seq[String] = model.iteratorFrom(prefix).takeWhile(_.startsWith(prefix)).toSeq

      for (_ <- 0 until 20000) {
        val prefix = f"p${random.nextInt(40)}%02d"
        val key = prefix + random.nextInt(if (prefix == "p07") 200 else 6)
        val padded = bytes(s"..$key..")
        random.nextInt(10) match {
          case 0 | 1 | 2 =>
            if (model(key)) prefixes.updated(padded, 2, key.length) else prefixes.added(padded, 2, key.length)
            model += key
            unapplied += prefix
          case 3 | 4 =>
            if (model(key)) {
              prefixes.removed(padded, 2, key.length)
              model -= key
              unapplied += prefix
            }
          case 5 | 6 | 7 =>
            val known = prefixes.find(bytes(prefix))
            if (known != null) {
              answers += 1
              assert(known.toSeq.map(text) == keysOf(prefix))
            } else {
              if (prefixes.isApplied(bytes(prefix))) assert(!unapplied(prefix))
              else {
                prefixes.applied()
                unapplied.clear()
              }
              prefixes.learn(bytes(prefix), keysOf(prefix).map(bytes).toArray)
            }
          case 8 => if (prefixes.lack(padded, 2, key.length)) assert(!model(key))
          case 9 => if (random.nextInt(500) == 0) prefixes.close()
        }
        assert(memory.used <= limit + 10000 && prefixes.bytes == memory.used)
      }
      assert(answers > 0)
      prefixes.close()
      assert(memory.used == 0)
    }

  test("a list that grows too long is forgotten, and a scan that is under way keeps its own") {
    val prefixes = new PrefixKeys((_, _, _) => 1, new IndexMemory(1 << 20))
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
