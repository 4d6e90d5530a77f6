package io.snapline.spark.sink.kafka

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import io.snapline.error.InvalidConfiguration

/** Makes records of rows, by the column names of Spark's Kafka sink; an ordinal of -1 is a column that is not there. */
private[kafka] final case class KafkaColumns(
    fixedTopic: Option[String],
    topic: Int,
    key: KafkaColumns.Bytes,
    value: KafkaColumns.Bytes,
    headers: Int,
    partition: Int
) {
  def record(row: InternalRow): ProducerRecord[Array[Byte], Array[Byte]] = {
    val to = fixedTopic.getOrElse {
      if (row.isNullAt(topic))
        throw new InvalidConfiguration("A row has no topic.", "set the column, or the option topic.")
      row.getUTF8String(topic).toString
    }
    val at: Integer = if (partition < 0 || row.isNullAt(partition)) null else row.getInt(partition)
    new ProducerRecord(to, at, key.of(row), value.of(row), headersOf(row))
  }

  private def headersOf(row: InternalRow): java.lang.Iterable[Header] =
    if (headers < 0 || row.isNullAt(headers)) null
    else {
      val array = row.getArray(headers)
      val made = new java.util.ArrayList[Header](array.numElements())
      (0 until array.numElements()).foreach { at =>
        val pair = array.getStruct(at, 2)
        made.add(new RecordHeader(pair.getUTF8String(0).toString, if (pair.isNullAt(1)) null else pair.getBinary(1)))
      }
      made
    }
}

private[kafka] object KafkaColumns {
  private val Headers = ArrayType(new StructType().add("key", StringType).add("value", BinaryType))

  /** A text or binary column; an ordinal of -1 is null in each row. */
  final case class Bytes(ordinal: Int, isText: Boolean) {
    def of(row: InternalRow): Array[Byte] =
      if (ordinal < 0 || row.isNullAt(ordinal)) null
      else if (isText) row.getUTF8String(ordinal).getBytes
      else row.getBinary(ordinal)
  }

  def apply(schema: StructType, fixedTopic: Option[String]): KafkaColumns = {
    def column(name: String, kinds: DataType*): Int = {
      val at = schema.fieldNames.indexOf(name)
      if (at >= 0 && !kinds.exists(DataType.equalsStructurally(_, schema(at).dataType, ignoreNullability = true))) {
        throw new InvalidConfiguration(
          s"The column $name is of type ${schema(at).dataType.sql}.",
          s"make it ${kinds.map(_.sql).mkString(" or ")}."
        )
      }
      at
    }
    def bytes(name: String): Bytes = {
      val at = column(name, StringType, BinaryType)
      Bytes(at, at >= 0 && schema(at).dataType.isInstanceOf[StringType])
    }
    val value = bytes("value")
    if (value.ordinal < 0) throw new InvalidConfiguration(
      s"There is no column value among ${schema.fieldNames.mkString(", ")}.",
      "select one, of type STRING or BINARY."
    )
    val topic = column("topic", StringType)
    if (fixedTopic.isEmpty && topic < 0) {
      throw new InvalidConfiguration("The sink has no topic.", "set the option topic, or select a column topic.")
    }
    KafkaColumns(fixedTopic, topic, bytes("key"), value, column("headers", Headers), column("partition", IntegerType))
  }
}
