package io.snapline.spark.operator.state

import java.lang.reflect.Proxy

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.execution.streaming.state.snapline.StoreBase
import org.apache.spark.sql.types.{LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.operator.OperatorStore

/** Clean-up against a model: what has expired goes, what was refreshed stays, and nothing is forgotten. */
class TtlIndexSpec extends AnyFunSuite {
  private val key = new StructType().add("k", LongType)
  private val toKey = UnsafeProjection.create(key)

  private def state(kind: String) =
    StateSpec("kept", kind, None, LongType, ttl = true, eventTimeTtl = false, prefetch = true, None)

  private def keyOf(k: Long): UnsafeRow = toKey(InternalRow(k)).copy()

  private def withStore(spec: StateSpec)(body: (StateStore, TtlIndex, ChangeCounts) => Unit): Unit =
    OperatorStore.using(key, NoPrefixKeyStateEncoderSpec(key)) { store =>
      KeyedFamilies.of(
        KeyedSpec("f", KeyedSpec.Element, Seq(spec), Nil, Nil, None, None),
        key
      ).foreach(_.createIn(store))
      val counts = new ChangeCounts
      body(store, new TtlIndex(spec, key, store, counts), counts)
    }

  test("values") {
    val spec = state(StateSpec.Value)
    val toValue = UnsafeProjection.create(spec.storedValue)
    val random = new Random(3)
    withStore(spec) { (store, index, counts) =>
      val model = mutable.Map.empty[Long, Long]
      var expired = 0
      (1 to 60).foreach { step =>
        val now = step * 10L
        (0 until 20).foreach { _ =>
          val k = random.nextInt(30).toLong
          if (random.nextInt(4) == 0) {
            store.remove(keyOf(k), "kept")
            model -= k
          } else {
            val expiry = now + 1 + random.nextInt(80)
            store.put(keyOf(k), toValue(InternalRow(InternalRow(k), expiry)), "kept")
            // A refreshed value keeps the entry it has.
            if (!model.contains(k)) index.created(expiry, keyOf(k))
            model(k) = math.max(expiry, model.getOrElse(k, 0L))
            store.put(keyOf(k), toValue(InternalRow(InternalRow(k), model(k))), "kept")
          }
        }
        index.cleanUp(now)
        expired += model.count(_._2 <= now)
        model.filterInPlace((_, expiry) => expiry > now)
        val kept = store.iterator("kept").map(p => p.key.getLong(0) -> p.value.getLong(1)).toMap
        assert(kept == model.toMap, s"at $now")
        assert(counts.expired == expired)
        // No more entries than values ever made since the last look, and none that is due.
        assert(store.iterator(TtlIndex.family("kept")).forall(_.key.getLong(0) > now))
      }
      index.cleanUp(Long.MaxValue - 1)
      assert(store.iterator("kept").isEmpty && store.iterator(TtlIndex.family("kept")).isEmpty)
    }
  }

  test("lists: each element has a life of its own") {
    val spec = state(StateSpec.ListKind)
    val toValue = UnsafeProjection.create(spec.storedValue)
    withStore(spec) { (store, index, counts) =>
      def element(n: Long, expiry: Long) = toValue(InternalRow(InternalRow(n), expiry)).copy()
      store.putList(keyOf(1), Array(element(1, 10), element(2, 30), element(3, 20)), "kept")
      index.created(10, keyOf(1))
      def left: Seq[Long] = store.valuesIterator(keyOf(1), "kept").map(_.getStruct(0, 1).getLong(0)).toSeq
      index.cleanUp(9)
      assert(left == Seq(1, 2, 3) && counts.expired == 0)
      index.cleanUp(10)
      assert(left == Seq(2, 3))
      index.cleanUp(25)
      assert(left == Seq(2))
      index.cleanUp(30)
      assert(left.isEmpty && counts.expired == 3 && store.iterator(TtlIndex.family("kept")).isEmpty)
    }
  }

  /** The store, and how often a method of it was called. */
  private def counting(store: StateStore, calls: mutable.Map[String, Int]): StateStore =
    Proxy.newProxyInstance(
      getClass.getClassLoader,
      Array(classOf[StoreBase]),
      (_, method, arguments) => {
        calls(method.getName) = calls.getOrElse(method.getName, 0) + 1
        method.invoke(store, arguments: _*)
      }
    ).asInstanceOf[StateStore]

  test("a list is gone through once, however many entries of it are due, and the due entries are read in pages") {
    val spec = state(StateSpec.ListKind)
    val toValue = UnsafeProjection.create(spec.storedValue)
    withStore(spec) { (store, _, _) =>
      val (added, late) = (25000, 1000000L)
      val elements = (1 to 50).map(n =>
        toValue(InternalRow(InternalRow(n.toLong), if (n == 50) late else n.toLong)).copy()
      )
      (1L to 3L).foreach(k => store.putList(keyOf(k), elements.toArray, "kept"))
      val calls = mutable.Map.empty[String, Int]
      val counts = new ChangeCounts
      val index = new TtlIndex(spec, key, counting(store, calls), counts)
      // As older versions left them: one for each time something was added.
      (1 to added).foreach(n => index.created(n.toLong, keyOf(1 + n % 3L)))
      calls.clear()
      index.cleanUp(added.toLong)
      val pages = calls("rangeScan")
      assert(pages == 1 + (added + 9999) / 10000)
      assert(calls("valuesIterator") <= 3 * (pages - 1))
      assert(counts.expired == 3 * 49)
      val left = store.iterator(TtlIndex.family("kept")).map(_.key.getLong(0)).toSeq
      assert(left == Seq(late, late, late))
    }
  }
}
