package io.snapline.state.heap

import java.util.{Arrays, TreeMap => JTreeMap}

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Random changes under open walks, against a tree map. */
class OrderedRowsSpec extends AnyFunSuite {
  private type Model = JTreeMap[Array[Byte], Integer]

  private def row(n: Int, length: Int, value: Int): Array[Byte] = {
    val key = Array[Byte]((n >> 16).toByte, (n >> 8).toByte, n.toByte).take(length)
    val made = Row.make(key, 0, key.length, 4, 0)
    java.nio.ByteBuffer.wrap(made).putInt(Row.valueAt(made), value)
    made
  }

  private def value(row: Array[Byte]): Int = java.nio.ByteBuffer.wrap(row).getInt(Row.valueAt(row))

  private def rest(walk: OrderedRows.Walk): Seq[Int] =
    Iterator.continually(walk.next()).takeWhile(_ != null).map(value).toSeq

  private def expected(model: Model, from: Array[Byte]): Seq[Int] =
    (if (from == null) model else model.tailMap(from, true)).values.asScala.map(_.intValue).toSeq

  for ((what, keys, changes) <- Seq(("few keys", 300, 20000), ("many keys", 60000, 60000)))
    test(s"what a walk shows, and what is there: $what") {
      val random = new Random(7)
      val account = new HeapAccount(new HeapMemory(0))
      val model = new Model((a, b) => Arrays.compareUnsigned(a, b))
      var walks = Vector.empty[(OrderedRows.Walk, Seq[Int])]
      val begun = (0 until keys by 3).map(n => row(n, 3, n)).toArray
      begun.foreach(r => model.put(Row.copyKey(r), value(r)))
      val tree = new OrderedRows(begun, account, () => walks.nonEmpty)
      for (change <- 0 until changes) {
        // Runs in order, as timers come, and anything.
        val n = if (change % 1000 < 300) (change * 7) % keys else random.nextInt(keys)
        val fresh = row(n, if (n % 50 == 0) 2 else 3, change)
        val key = Row.copyKey(fresh)
        val deleting = (change / 5000) % 2 == 1
        if (!model.containsKey(key)) { if (!deleting) { tree.add(fresh); model.put(key, change) } }
        else if (deleting || random.nextInt(4) == 0) { tree.remove(fresh); model.remove(key) }
        else { tree.replace(fresh); model.put(key, change) }
        if (change % 200 == 0 && walks.size < 4) {
          val from = if (random.nextBoolean()) null else Row.copyKey(row(random.nextInt(keys), 3, 0))
          walks :+= ((tree.walk(from), expected(model, from)))
        } else if (change % 317 == 0 && walks.nonEmpty) {
          val (walk, shows) = walks(random.nextInt(walks.size))
          assert(rest(walk) == shows)
          walks = walks.filterNot(_._1 eq walk)
        }
      }
      walks.foreach { case (walk, shows) => assert(rest(walk) == shows) }
      walks = Vector.empty
      assert(rest(tree.walk(null)) == expected(model, null))
      model.keySet.asScala.toSeq.foreach(key => tree.remove(Row.make(key, 0, key.length, 0, 0)))
      assert(rest(tree.walk(null)).isEmpty)
      assert(account.bytes < 1024, "an empty tree takes no more than a node")
      tree.close()
      assert(account.bytes == 0)
    }

  test("rows that come in order fill their nodes") {
    val account = new HeapAccount(new HeapMemory(0))
    val tree = new OrderedRows(Array.empty, account, () => false)
    (0 until 64000).foreach(n => tree.add(row(n, 3, n)))
    assert(account.bytes < 64000 * HeapLayout.ReferenceBytes * 13 / 10)
    assert(rest(tree.walk(null)) == (0 until 64000))
  }
}
