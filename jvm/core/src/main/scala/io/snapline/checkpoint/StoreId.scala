package io.snapline.checkpoint

import io.snapline.snapshot.format.VersionRef

/** One store of one partition of one stateful operator. A join has several stores; other operators have one, named
  * `default`.
  */
final case class StoreId(operator: Long, partition: Int, store: String) {

  /** Relative to the checkpoint. */
  def folder: String = s"state/$operator/$partition" + (if (store == StoreId.Default) "" else s"/$store")

  override def toString: String = s"$operator/$partition/$store"
}

object StoreId {
  private val Default = "default"
}

/** A file that checkpoints name. */
sealed trait NamedFile

/** A file of a store, by its name in the store's folder. */
final case class StoreFile(store: StoreId, name: String) extends NamedFile {
  override def toString: String = s"$store/$name"
}

/** A merged file, which has handles of many stores. */
final case class MergedHandles(ref: VersionRef) extends NamedFile {
  override def toString: String = ref.mergedName
}
