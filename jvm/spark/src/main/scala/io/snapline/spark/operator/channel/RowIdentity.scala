package io.snapline.spark.operator.channel

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}

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
