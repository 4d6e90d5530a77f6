package io.snapline.state.rocksdb

import scala.collection.mutable

import io.snapline.state.rowtable.{Entry, Op}

/** Puts queued changes into RocksDB, those of several pages at once, so that they can be sorted. Used by whoever drains
  * the queue.
  *
  * @param familyOf
  *   the family of a number, or null: it was removed, and its changes with it
  */
private[rocksdb] final class ChangeWriter(familyOf: Int => RocksDbFamily, write: Array[Byte] => Unit) {
  private val entry = new Entry

  def apply(runs: IndexedSeq[ChangeQueue.Run]): Unit = {
    val batch = new BatchBuilder(runs.map(run => run.until - run.from).sum)
    val pages = runs.map(_.page)
    val changes = mutable.LinkedHashMap.empty[Int, SortedChanges]
    val writeOut = () => if (!batch.isEmpty) write(batch.take())

    def writeSorted(): Unit = {
      changes.values.foreach(_.putInto(batch, pages, entry, writeOut))
      changes.clear()
      writeOut()
    }

    runs.indices.foreach { number =>
      val bytes = pages(number).bytes
      var at = runs(number).from
      while (at < runs(number).until) {
        entry.read(bytes, at)
        val end = entry.end
        val family = if (entry.op == Op.Void) null else familyOf(entry.family)
        if (family != null) {
          family.nativeHas = true
          val native = family.native.getID
          if (entry.op == Op.DeleteRange) {
            // It takes the keys that were put before it, and none that comes later.
            writeSorted()
            entry.read(bytes, at)
            batch.add(bytes, entry, native)
            writeOut()
          } else changes.getOrElseUpdate(entry.family, new SortedChanges(native)).add(number, at, bytes, entry)
        }
        at = end
      }
    }
    writeSorted()
  }
}
