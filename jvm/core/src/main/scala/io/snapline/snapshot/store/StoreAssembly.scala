package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import io.snapline.error.IncompatibleState
import io.snapline.snapshot.format.{FamilyState, Origin, UidClock, VersionRef}
import io.snapline.snapshot.upload.SnapshotUpload
import io.snapline.state.{FamilyDescriptor, StoreBuilder}
import io.snapline.storage.CheckpointStorage

/** A store that is put together of rows of other stores, and becomes a version that stands alone. Owns the builder,
  * whose rules hold for the rows. One thread.
  */
private[snapline] final class StoreAssembly(builder: StoreBuilder) extends AutoCloseable {
  private val families = mutable.LinkedHashMap.empty[String, FamilyDescriptor]
  private val keys = mutable.HashMap.empty[String, Long].withDefaultValue(0L)
  private var current: String = _
  private var count = 0L

  /** Begins a run of rows of a family like this one, which has another number here. */
  def begin(like: FamilyDescriptor): Unit = {
    endRun()
    val family = families.getOrElseUpdate(like.name, like.copy(id = families.size))
    if (family != like.copy(id = family.id)) {
      throw new IncompatibleState(
        s"State ${like.name} is kept in different ways in two partitions of one operator.",
        "restore the checkpoint from a backup; take a canonical savepoint of it if it runs."
      )
    }
    current = like.name
    builder.begin(family)
  }

  def put(key: Array[Byte], value: Array[Byte]): Unit = {
    builder.put(key, value)
    count += 1
  }

  private def endRun(): Unit = {
    if (current != null) keys(current) += count
    count = 0
  }

  /** Writes it into a store's folder that is empty. Durable when this returns. */
  def write(to: CheckpointStorage, version: Long, origin: Origin, settings: StateSettings): VersionRef = {
    endRun()
    val clock = new UidClock
    val ref = VersionRef(version, clock.next())
    val states = families.values.map(family => FamilyState(family, keys(family.name))).toSeq
    val local = builder.finish().inline(settings.inlineThreshold)
    val deadline = System.nanoTime() + StoreAssembly.UploadNanos
    val meta = new SnapshotUpload(to, clock, Map.empty, deadline)
      .run(ref, local, builder.kind, states, System.currentTimeMillis(), origin)
    SnapshotUpload.writeHandle(to, meta, local): Unit
    ref
  }

  override def close(): Unit = builder.close()
}

private object StoreAssembly {

  /** Nobody cleans up in a folder that no query runs on. */
  private val UploadNanos = TimeUnit.DAYS.toNanos(1)
}
