package io.snapline.spark.savepoint

import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.StoreId
import io.snapline.error.StateNotFound

class RestorePlanSpec extends AnyFunSuite {
  private val family = FamilyLayout("default", new StructType, new StructType, "{}", false, Placement.First)

  private def plan(p: Int, q: Int): RestorePlan = {
    val operator = OperatorLayout(3, "op", None, p, Nil, Seq(StoreLayout("default", Seq(family))))
    val stores = (0 until p).map(partition => StoreVersion(StoreId(3, partition, "default"), 7, None))
    RestorePlan(Seq(TargetOperator(3, q, operator)), stores)
  }

  test("every key's old partition is read by whoever writes its new one, and each is written once") {
    for (p <- 1 to 12; q <- 1 to 12; slots <- Seq(1, 2, 5, 40)) {
      val shares = plan(p, q).shares(slots)
      assert(shares.flatMap(_.targets).sorted == (0 until q))
      (0 until p * q * 2).foreach { hash =>
        val share = shares.find(_.targets.contains(hash % q)).get
        assert(share.sources.exists(_.id.partition == hash % p), s"$p -> $q, hash $hash")
      }
    }
  }

  test("nothing is read twice where the shares that read it once are enough for all slots") {
    for ((p, q, slots) <- Seq((4, 8, 4), (8, 4, 2), (6, 9, 3), (200, 50, 16))) {
      val read = plan(p, q).shares(slots).flatMap(_.sources.map(_.id.partition))
      assert(read.sorted == (0 until p))
    }
  }

  test("a partition that is not there") {
    val incomplete = plan(3, 2).copy(versions = plan(2, 2).versions)
    intercept[StateNotFound](incomplete.shares(1))
  }
}
