package io.snapline.checkpoint

/** One store of one partition of one stateful operator. A join has several stores; other operators have one, named `default`. */
final case class StoreId(operator: Long, partition: Int, store: String) {
  override def toString: String = s"$operator/$partition/$store"
}

/** A file of a store, by its name in the store's folder. */
final case class StoreFile(store: StoreId, name: String) {
  override def toString: String = s"$store/$name"
}
