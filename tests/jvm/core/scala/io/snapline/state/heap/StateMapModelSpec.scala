package io.snapline.state.heap

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Random changes with several snapshots outstanding, images and lists of changes, released in any order, against plain
  * maps. After each the memory counted is that of what is there.
  */
class StateMapModelSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  import StateMapModelSpec._

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 60)

  for ((name, keys) <- Seq("few keys" -> 12, "many keys" -> 4000))
    test(s"a copy-on-write map and its snapshots: $name") {
      forAll(Gen.listOfN(400, step(keys)))(steps => new CopyOnWriteRun().play(steps))
    }

  test("a nested map's namespaces") {
    forAll(Gen.listOfN(400, step(200)))(steps => new NestedRun().play(steps))
  }

  test("a map grows to many segments and shrinks again, a segment at a time") {
    val account = new HeapAccount(new HeapMemory(0))
    val map = new CopyOnWriteStateMap(new SnapshotVersions, account)
    val empty = account.bytes
    val bytes = (0 until 30000).map { i =>
      val k = key(i)
      map.put(k, 0, k.length, k, 0, k.length, inPlace = true)
      account.bytes
    }
    // Doubling arrays of references are all that grows by more than a segment.
    assert(bytes.zip(bytes.tail).count { case (a, b) => b - a > 4096 } < 30)
    assert((0 until 30000).forall(i => map.get(key(i), 0, key(i).length) != null))
    (0 until 30000).foreach(i => assert(map.remove(key(i), 0, key(i).length) != null))
    map.takeChanges(): Unit
    account.releaseHeld()
    assert(map.size == 0 && map.dataBytes == 0)
    assert(account.bytes < empty + 2048, s"${account.bytes} of $empty")
  }
}

private object StateMapModelSpec {
  sealed trait Step
  final case class Put(key: Int, length: Int) extends Step
  final case class Append(key: Int, length: Int) extends Step
  final case class Remove(key: Int) extends Step
  final case class Snapshot(image: Boolean) extends Step
  final case class Release(which: Int) extends Step

  /** A cursor that is open or closed. */
  final case class Walked(inPlace: Boolean) extends Step

  def step(keys: Int): Gen[Step] = {
    val key = Gen.choose(0, keys - 1)
    Gen.frequency(
      30 -> Gen.zip(key, Gen.choose(0, 30)).map(Put.tupled),
      10 -> Gen.zip(key, Gen.choose(0, 30)).map(Append.tupled),
      15 -> key.map(Remove),
      4 -> Gen.oneOf(true, false).map(Snapshot),
      3 -> Gen.choose(0, 5).map(Release),
      2 -> Gen.oneOf(true, false).map(Walked)
    )
  }

  type Rows = Map[Seq[Byte], Seq[Byte]]

  /** Some hashes collide: the last byte is the same for all of a residue, and lengths differ. */
  def key(n: Int): Array[Byte] = BigInt(n * 7919L).toByteArray ++ Array.fill(n % 3)(7.toByte)

  def pair(row: Array[Byte]): (Seq[Byte], Seq[Byte]) = Row.copyKey(row).toSeq -> Row.copyValue(row).toSeq

  /** What a map holds, and what it should. */
  abstract class Run {
    protected val account = new HeapAccount(new HeapMemory(0))
    protected def map: StateMap
    protected var now: Rows = Map.empty
    private var inPlace = true
    private var count = 0

    protected def snapshot(image: Boolean): Unit
    protected def release(which: Int): Unit

    /** Counted besides the rows and tables of the map. */
    protected def besides: Long

    def play(steps: Seq[Step]): Unit = {
      steps.foreach(take)
      check()
    }

    private def value(length: Int): Array[Byte] = {
      count += 1
      Array.tabulate(length)(i => (count + i).toByte)
    }

    private def take(step: Step): Unit = step match {
      case Put(n, length) =>
        val (k, v) = (key(n), value(length))
        map.put(k, 0, k.length, v, 0, v.length, inPlace)
        assert((map.before != null) == now.contains(k.toSeq))
        now += k.toSeq -> v.toSeq
      case Append(n, length) =>
        val (k, v) = (key(n), value(length))
        map.append(k, 0, k.length, v, 0, v.length, inPlace)
        now += k.toSeq -> (now.getOrElse(k.toSeq, Nil) ++ v)
      case Remove(n) =>
        val k = key(n)
        val gone = map.remove(k, 0, k.length)
        assert(Option(gone).map(pair) == now.get(k.toSeq).map(k.toSeq -> _))
        now -= k.toSeq
      case Snapshot(image) => snapshot(image)
      case Release(which) => release(which)
      case Walked(closed) => inPlace = closed
    }

    protected def check(): Unit = {
      val rows = mutable.Map.empty[Seq[Byte], Seq[Byte]]
      map.foreach(row => assert(rows.put(Row.copyKey(row).toSeq, Row.copyValue(row).toSeq).isEmpty))
      assert(rows.toMap == now && map.size == now.size)
      assert(map.dataBytes == now.map { case (k, v) => k.size + v.size }.sum)
      now.keys.foreach { k =>
        assert(pair(map.get(k.toArray, 0, k.size))._2 == now(k))
      }
      var bytes = besides + map.tableBytes
      map.foreach(row => bytes += HeapLayout.bytes(row.length))
      assert(account.bytes == bytes, "memory counted, and memory there")
    }
  }

  final class CopyOnWriteRun extends Run {
    private val versions = new SnapshotVersions(() => account.releaseHeld())
    private val cow = new CopyOnWriteStateMap(versions, account)
    override protected def map: StateMap = cow

    /** Taken and not released: what it should show, and how to see it. */
    private var outstanding = Vector.empty[(Int, Rows, () => Rows)]
    private var last: Rows = Map.empty

    override protected def besides: Long = 0

    override protected def snapshot(image: Boolean): Unit = {
      val before = last
      val shows =
        if (image) {
          val taken = cow.image
          cow.takeChanges(): Unit
          () => rowsOf(taken.foreach)
        } else {
          val changes = cow.takeChanges()
          () => {
            var gone = Set.empty[Seq[Byte]]
            changes.foreachDeleted(k => gone += k.toSeq)
            before -- gone ++ rowsOf(changes.foreachRow)
          }
        }
      outstanding :+= ((versions.take(image), now, shows))
      last = now
    }

    private def rowsOf(foreach: (Array[Byte] => Unit) => Unit): Rows = {
      val rows = mutable.Map.empty[Seq[Byte], Seq[Byte]]
      foreach(row => assert(rows.put(Row.copyKey(row).toSeq, Row.copyValue(row).toSeq).isEmpty, "a key twice"))
      rows.toMap
    }

    override protected def release(which: Int): Unit = if (outstanding.nonEmpty) {
      val (version, rows, shows) = outstanding(which % outstanding.size)
      assert(shows() == rows, s"snapshot $version")
      outstanding = outstanding.filterNot(_._1 == version)
      versions.release(version)
    }

    override protected def check(): Unit = {
      while (outstanding.nonEmpty) release(0)
      super.check()
    }
  }

  final class NestedRun extends Run {
    private val nested = new NestedStateMap(account)
    private val other = nested.namespace(3)
    private val k = key(1)
    other.put(k, 0, k.length, k, 0, k.length, inPlace = true)
    private val neighbour = account.bytes
    private val rows = nested.namespace(9)
    override protected def map: StateMap = rows

    override protected def snapshot(image: Boolean): Unit = assert(nested.namespace(9) eq rows)
    override protected def release(which: Int): Unit = assert(other.size == 1)
    override protected def besides: Long = {
      // The neighbour is as it was.
      assert(pair(other.get(k, 0, k.length)) == (k.toSeq -> k.toSeq))
      neighbour
    }
  }
}
