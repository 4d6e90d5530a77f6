package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.SparkEnv
import org.apache.spark.memory.{MemoryMode, UnifiedMemoryManager, UnmanagedMemoryConsumer, UnmanagedMemoryConsumerId}

/** Memory that the stores of a JVM take beside Spark's own. Spark's memory manager asks for it, and has that much less
  * to give, where `spark.memory.unmanagedMemoryPollingInterval` says so.
  *
  * @param used
  *   bytes now; asked from a thread of Spark's
  */
final class StateMemory(name: String, override val memoryMode: MemoryMode, used: () => Long)
    extends UnmanagedMemoryConsumer {
  override val unmanagedMemoryConsumerId: UnmanagedMemoryConsumerId =
    UnmanagedMemoryConsumerId(StateMemory.Component, name)

  override def getMemBytesUsed: Long = used()
}

object StateMemory {
  val Component = "Snapline"

  def onHeap(used: () => Long): StateMemory = new StateMemory("rows", MemoryMode.ON_HEAP, used)

  def offHeap(used: () => Long): StateMemory = new StateMemory("RocksDB", MemoryMode.OFF_HEAP, used)

  /** As often as one likes: the manager forgets them when its application ends. */
  def report(memory: Seq[StateMemory]): Unit =
    if (SparkEnv.get != null) memory.foreach(UnifiedMemoryManager.registerUnmanagedMemoryConsumer)
}
