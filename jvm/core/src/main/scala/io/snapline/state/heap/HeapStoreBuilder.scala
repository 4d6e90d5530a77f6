package io.snapline.state.heap

import java.io.File

import io.snapline.state._

/** Writes an image. No map is made of it: the rows pass through.
  *
  * @param folder
  *   a new one, where the image is written
  */
final class HeapStoreBuilder(folder: File, settings: HeapSettings) extends StoreBuilder {
  override def kind: String = HeapBackend.Kind

  folder.mkdirs()
  private val image = new File(folder, SnapshotChain.imageName(1))
  private val writer = new RowsFileWriter(image, settings.compress)
  private var family = 0

  override def begin(run: FamilyDescriptor): Unit = family = run.id

  override def put(key: Array[Byte], value: Array[Byte]): Unit = writer.put(family, key, value)

  override def finish(): LocalSnapshot = {
    writer.finish()
    LocalSnapshot(folder, Seq(image), Nil)
  }

  override def close(): Unit = {
    writer.close()
    LocalFolder.delete(folder)
  }
}
