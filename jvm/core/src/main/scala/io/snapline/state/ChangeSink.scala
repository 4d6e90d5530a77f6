package io.snapline.state

/** Takes the changes of a version while it is being made, in the changelog's encoding (docs/FORMAT.md section 3). */
trait ChangeSink {

  /** Whether it wants each change of a key: a change feed shows them all. Restoring the state takes the last one only.
    */
  def eachChange: Boolean = false

  /** A run of whole entries. The bytes are copied or written before the call returns. */
  def write(entries: Array[Byte], offset: Int, length: Int, count: Int): Unit
}
