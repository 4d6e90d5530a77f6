package io.snapline.state.heap

/** @param asyncSnapshots
  *   false: the maps are smaller, and the task waits until a snapshot is written
  * @param compress
  *   whether files of rows are compressed
  * @param imageAfter
  *   changes since the last image, relative to it, that make another one due
  * @param smallImage
  *   bytes of state below which every snapshot is an image
  * @param maxStateSize
  *   bytes of keys and values that one family may hold at the end of a version; not positive: any
  */
final case class HeapSettings(
    asyncSnapshots: Boolean = true,
    compress: Boolean = true,
    imageAfter: Double = 0.5,
    smallImage: Long = 64L << 10,
    maxStateSize: Long = 0
)
