package io.snapline.state.heap

import java.util.Arrays

import io.snapline.state.rowtable.RowIndex

/** Namespace -> key -> value, always changed in place. A snapshot has to be written before the next change. One thread.
  */
private[heap] final class NestedStateMap(account: HeapAccount) {
  private var namespaces = new Array[NestedStateMap.Rows](4)

  /** The rows of a namespace, made if absent. */
  def namespace(number: Int): StateMap = {
    if (number >= namespaces.length) namespaces = Arrays.copyOf(namespaces, math.max(number + 1, namespaces.length * 2))
    if (namespaces(number) == null) namespaces(number) = new NestedStateMap.Rows(account)
    namespaces(number)
  }

  /** The next rows of that namespace are others. */
  def forget(number: Int): Unit = if (number < namespaces.length) namespaces(number) = null
}

private[heap] object NestedStateMap {

  private final class Rows(account: HeapAccount) extends StateMap {
    private val table = new HashedRows(HashedRows.SmallestLog)
    private var data = 0L
    account.add(table.bytes)

    override def size: Int = table.size

    override def dataBytes: Long = data

    override def tableBytes: Long = table.bytes

    override def get(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
      val slot = table.find(RowIndex.hash(0, key, offset, length), key, offset, length)
      if (slot < 0) null else table.row(slot)
    }

    override def put(
        key: Array[Byte],
        ko: Int,
        kl: Int,
        value: Array[Byte],
        vo: Int,
        vl: Int,
        inPlace: Boolean
    ): Unit = {
      val hash = RowIndex.hash(0, key, ko, kl)
      val slot = table.find(hash, key, ko, kl)
      if (slot < 0) add(hash, key, ko, kl, value, vo, vl)
      else {
        val old = table.row(slot)
        before = old
        data += vl - Row.valueLength(old)
        if (inPlace && Row.fits(old, vl)) {
          row = old
          Row.setValueLength(old, vl)
        } else replace(slot, old, Row.make(key, ko, kl, vl, 0))
        System.arraycopy(value, vo, row, Row.valueAt(row), vl)
      }
    }

    override def append(
        key: Array[Byte],
        ko: Int,
        kl: Int,
        value: Array[Byte],
        vo: Int,
        vl: Int,
        inPlace: Boolean
    ): Unit = {
      val hash = RowIndex.hash(0, key, ko, kl)
      val slot = table.find(hash, key, ko, kl)
      if (slot < 0) add(hash, key, ko, kl, value, vo, vl)
      else {
        val old = table.row(slot)
        before = old
        data += vl
        if (inPlace && Row.hasRoom(old, vl)) row = old else replace(slot, old, Row.extended(old, vl))
        Row.append(row, value, vo, vl)
      }
    }

    private def add(
        hash: Int,
        key: Array[Byte],
        ko: Int,
        kl: Int,
        value: Array[Byte],
        vo: Int,
        vl: Int
    ): Unit = {
      before = null
      row = Row.make(key, ko, kl, vl, 0)
      System.arraycopy(value, vo, row, Row.KEY + kl, vl)
      data += kl + vl
      val was = table.bytes
      table.insert(hash, row)
      account.add(HeapLayout.bytes(row.length) + table.bytes - was)
    }

    private def replace(slot: Int, old: Array[Byte], fresh: Array[Byte]): Unit = {
      row = fresh
      table.setRow(slot, fresh)
      account.add(HeapLayout.bytes(fresh.length) - HeapLayout.bytes(old.length))
    }

    override def remove(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
      val slot = table.find(RowIndex.hash(0, key, offset, length), key, offset, length)
      if (slot < 0) null
      else {
        val old = table.row(slot)
        table.removeAt(slot)
        data -= Row.keyLength(old) + Row.valueLength(old)
        account.add(-HeapLayout.bytes(old.length))
        old
      }
    }

    override def foreach(each: Array[Byte] => Unit): Unit = table.foreach((_, row) => each(row))

    override def close(): Unit = {
      account.add(-table.bytes)
      foreach(row => account.add(-HeapLayout.bytes(row.length)))
    }
  }
}
