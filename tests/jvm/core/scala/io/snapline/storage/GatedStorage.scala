package io.snapline.storage

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

/** Holds up whoever creates certain files until a test lets them go on. Any thread. */
final class GatedStorage(inner: CheckpointStorage) extends CheckpointStorage {
  @volatile private var gate: Option[(String, CountDownLatch)] = None
  private val arrived = new ConcurrentLinkedQueue[String]

  /** Files whose name ends so wait from now on. */
  def hold(suffix: String): Unit = gate = Some(suffix -> new CountDownLatch(1))

  def release(): Unit = {
    gate.foreach(_._2.countDown())
    gate = None
  }

  /** Waits until somebody is held up. */
  def awaitArrival(): Unit = {
    val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30)
    while (arrived.isEmpty && System.nanoTime() < until) Thread.sleep(5)
    assert(!arrived.isEmpty, "nobody came")
  }

  override def location: String = inner.location

  override def create(name: String): StoredOutput = {
    gate.foreach { case (suffix, latch) =>
      if (name.endsWith(suffix)) {
        arrived.add(name)
        assert(latch.await(30, TimeUnit.SECONDS), s"$name was never released")
      }
    }
    inner.create(name)
  }

  override def open(name: String): StoredInput = inner.open(name)
  override def list(folder: String): Seq[StoredFile] = inner.list(folder)
  override def delete(name: String): Boolean = inner.delete(name)
}
