package io.snapline.state.rocksdb

import java.util.ArrayList

import io.snapline.state._
import io.snapline.state.timeindex.IndexMemory

/** The scans by prefix of one family: from the row table, where it is known which keys the prefix has, and else from
  * RocksDB. One thread, that of the backend.
  *
  * @param filterMemory
  *   memory for the filter of prefixes that have no list
  */
private[rocksdb] final class PrefixScans(
    backend: RocksDbBackend,
    family: RocksDbFamily,
    length: PrefixLength,
    filterMemory: IndexMemory,
    listMemory: IndexMemory
) extends AutoCloseable {
  private val unlisted = new LearnedFilter(filterMemory, family.keyCount)

  /** Must be told of each key that comes or goes. */
  val keys = new PrefixKeys(length, listMemory, unlisted)
  private val walk = new RowWalk(backend, family)

  // Counts a restore as a put.
  if (family.putCount == 0) keys.none()

  /** A batch begins. */
  def step(): Unit = unlisted.step(begin()) { due =>
    walk.step(due) { (_, key) =>
      keys.passed(key)
      unlisted.goesOn
    }
  }

  private def begin(): Unit = {
    // The walk does not see rows that are above RocksDB alone.
    backend.drain()
    walk.again()
  }

  def scan(prefix: Array[Byte]): RowCursor = {
    val found = keys.find(prefix)
    if (found == null) learn(prefix) else new ReadRows(found, found.map(family.get(_)))
  }

  private def below(prefix: Array[Byte]): RowCursor = {
    val until = Ranges.afterPrefix(prefix)
    if (keys.isApplied(prefix)) backend.scanBelow(family, prefix, until)
    else {
      val cursor = backend.scan(family, prefix, until)
      keys.applied()
      cursor
    }
  }

  /** Reads the rows of a prefix at once, if they are few. */
  private def learn(prefix: Array[Byte]): RowCursor = {
    val cursor = below(prefix)
    val found = new ArrayList[Array[Byte]]
    val values = new ArrayList[Array[Byte]]
    try {
      var more = cursor.next()
      while (more && found.size < PrefixKeys.MostKeys) {
        found.add(cursor.key)
        values.add(cursor.value)
        more = cursor.next()
      }
      if (more) below(prefix)
      else {
        val all = found.toArray(new Array[Array[Byte]](0))
        if (all.isEmpty) unlisted.missed()
        keys.learn(prefix, all)
        new ReadRows(all, values.toArray(new Array[Array[Byte]](0)))
      }
    } finally cursor.close()
  }

  override def close(): Unit = keys.close()
}
