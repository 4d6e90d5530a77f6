package io.snapline.spark.protocol

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.StoreId
import io.snapline.error.InternalError
import io.snapline.snapshot.format.VersionRef

class HolderOrderSpec extends AnyFunSuite {
  test("an order is read as it was written") {
    val store = StoreId(3, 17, "left-keyToNumValues")
    val orders = Seq(HolderOrder.Take("q", "r", store, VersionRef(9, "u"), 4), HolderOrder.Forget("r"))
    assert(orders.map(order => HolderOrder.parse(order.text)) == orders)
    Seq("take q", "{}", """{"order":"take","query":"q"}""", """{"order":"wait"}""").foreach { text =>
      assertThrows[InternalError](HolderOrder.parse(text))
    }
  }
}
