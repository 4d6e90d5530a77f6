package io.snapline.state.heap

import java.util.concurrent.atomic.AtomicLong

import io.snapline.error.StateTooLarge

/** The heap that all heap backends of a JVM take, and how much it may become. Owned by whoever makes it (one for the
  * JVM). Any thread.
  *
  * @param limit
  *   bytes; not positive: none
  */
final class HeapMemory(val limit: Long) {
  private val taken = new AtomicLong

  def used: Long = taken.get

  private[heap] def take(bytes: Long): Unit = {
    val now = taken.addAndGet(bytes)
    if (limit > 0 && now > limit && bytes > 0) {
      taken.addAndGet(-bytes)
      throw new StateTooLarge(
        s"State on the heap of this executor would take $now bytes; ${HeapMemory.Setting} allows $limit.",
        s"raise ${HeapMemory.Setting} together with the executor's memory, spread the state over more executors or partitions, or set spark.snapline.state.backend.type to rocksdb " +
          "(a savepoint carries the state over). The task is retried from the last version in storage."
      )
    }
  }
}

object HeapMemory {
  val Setting = "spark.snapline.state.backend.hashmap.memory-limit"
}

/** The bytes that one backend has on the heap. One thread adds. The thread that wrote a snapshot may report `held`. */
private[heap] final class HeapAccount(memory: HeapMemory) {
  private var own = 0L
  private var told = 0L
  private val heldBytes = new AtomicLong

  /** Bytes now, of rows that only a snapshot still shows among them. */
  def bytes: Long = own + heldBytes.get

  def add(bytes: Long): Unit = {
    own += bytes
    val difference = this.bytes - told
    if (difference >= HeapAccount.Grain || difference <= -HeapAccount.Grain) tell()
  }

  /** A row that is gone from the map and stays for a snapshot. */
  def hold(bytes: Long): Unit = heldBytes.addAndGet(bytes): Unit

  /** No snapshot is outstanding any more. */
  def releaseHeld(): Unit = heldBytes.set(0)

  private def tell(): Unit = {
    val difference = bytes - told
    memory.take(difference)
    told += difference
  }

  def close(): Unit = {
    memory.take(-told)
    told = 0
  }
}

private object HeapAccount {

  /** Stores tell the JVM's sum in steps of this size. */
  val Grain: Long = 64L << 10
}

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
