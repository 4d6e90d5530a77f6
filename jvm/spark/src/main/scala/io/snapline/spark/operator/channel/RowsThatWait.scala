package io.snapline.spark.operator.channel

import java.nio.ByteBuffer

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}

/** Finds again, in another order, the rows of a batch that waited at its end. Among equal rows the last ones wait, so
  * all rows are counted before the first is asked about.
  *
  * @param refuse
  *   gets the number of rows that are not there
  */
private[operator] final class RowsThatWait(left: Seq[RowIdentity], refuse: Int => Unit) {
  private final class Count(var waiting: Int, var seen: Int)
  private val counts = mutable.HashMap.empty[RowIdentity, Count]
  left.foreach(id => counts.getOrElseUpdate(id, new Count(0, 0)).waiting += 1)

  def count(row: UnsafeRow): Unit = counts.get(RowIdentity.of(row)).foreach(_.seen += 1)

  /** When all have been counted, before the first is asked about. */
  def counted(): Unit = {
    val missing = counts.values.map(count => math.max(0, count.waiting - count.seen)).sum
    if (missing > 0) refuse(missing)
  }

  /** Whether this row waits; asked once for each, in the order they come. */
  def has(row: UnsafeRow): Boolean = counts.get(RowIdentity.of(row)).exists { count =>
    count.seen -= 1
    count.seen < count.waiting
  }
}

/** 128 bits of a row's bytes: rows of one identity are taken for equal. */
private[operator] final case class RowIdentity(high: Long, low: Long)

private[operator] object RowIdentity {
  val Bytes = 16
  private val Seeds = (42L, 0x534e4150L)

  def of(row: UnsafeRow): RowIdentity = {
    def hash(seed: Long) = XXH64.hashUnsafeWords(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, seed)
    RowIdentity(hash(Seeds._1), hash(Seeds._2))
  }

  def write(identities: Seq[RowIdentity]): Array[Byte] = {
    val bytes = ByteBuffer.allocate(Bytes * identities.size)
    identities.foreach(id => bytes.putLong(id.high).putLong(id.low))
    bytes.array
  }

  def read(bytes: Array[Byte], length: Int): Seq[RowIdentity] = {
    val in = ByteBuffer.wrap(bytes, 0, length)
    Seq.fill(length / Bytes)(RowIdentity(in.getLong, in.getLong))
  }
}
