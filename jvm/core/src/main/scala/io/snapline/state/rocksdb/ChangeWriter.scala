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
    var last: SortedChanges = null
    val writeOut = () => if (!batch.isEmpty) write(batch.take())

    def writeSorted(): Unit = {
      changes.values.filter(_.native >= 0).foreach(_.putInto(batch, pages, entry, writeOut))
      changes.clear()
      last = null
      writeOut()
    }

    runs.indices.foreach { number =>
      val bytes = pages(number).bytes
      var at = runs(number).from
      while (at < runs(number).until) {
        entry.read(bytes, at)
        val end = entry.end
        entry.op match {
          case Op.Void => ()
          case Op.DeleteRange =>
            // It takes the keys that were put before it, and none that comes later.
            writeSorted()
            entry.read(bytes, at)
            val family = nativeOf(entry.family)
            if (family >= 0) batch.add(bytes, entry, family)
            writeOut()
          case _ =>
            if (last == null || last.family != entry.family) {
              last = changes.getOrElseUpdate(entry.family, new SortedChanges(entry.family, nativeOf(entry.family)))
            }
            last.add(number, at, bytes, entry)
        }
        at = end
      }
    }
    writeSorted()
  }

  /** The number of a family in RocksDB, which has rows of it from now on; -1: there is no such family. */
  private def nativeOf(id: Int): Int = {
    val family = familyOf(id)
    if (family == null) -1
    else {
      family.nativeHas = true
      family.native.getID
    }
  }
}
