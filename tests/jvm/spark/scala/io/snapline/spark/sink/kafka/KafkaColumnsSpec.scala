package io.snapline.spark.sink.kafka

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration

class KafkaColumnsSpec extends AnyFunSuite {
  private def text(value: String): UTF8String = UTF8String.fromString(value)
  private val header = new StructType().add("key", StringType).add("value", BinaryType)

  test("all columns of Spark's sink, in any order") {
    val schema = new StructType().add("partition", IntegerType).add("value", BinaryType).add("topic", StringType)
      .add("headers", ArrayType(header)).add("key", StringType).add("other", LongType)
    val headers = new GenericArrayData(Array[Any](InternalRow(text("h"), Array[Byte](1)), InternalRow(text("i"), null)))
    val record = KafkaColumns(schema, None).record(
      InternalRow(2, Array[Byte](7, 8), text("to"), headers, text("k"), 1L)
    )
    assert(record.topic == "to" && record.partition == 2)
    assert(record.key.toSeq == "k".getBytes.toSeq && record.value.toSeq == Seq[Byte](7, 8))
    assert(record.headers.toArray.map(_.key).toSeq == Seq("h", "i"))
    assert(record.headers.toArray.map(_.value).toSeq.map(Option(_).map(_.toSeq)) == Seq(Some(Seq[Byte](1)), None))
  }

  test("the value alone; nulls") {
    val record = KafkaColumns(new StructType().add("value", StringType), Some("fixed")).record(InternalRow(null))
    assert(record.topic == "fixed" && record.partition == null && record.key == null && record.value == null)
  }

  test("the option topic is before the column") {
    val schema = new StructType().add("value", StringType).add("topic", StringType)
    assert(KafkaColumns(schema, Some("fixed")).record(InternalRow(text("v"), text("other"))).topic == "fixed")
  }

  test("a row without a topic") {
    val columns = KafkaColumns(new StructType().add("value", StringType).add("topic", StringType), None)
    assertThrows[InvalidConfiguration](columns.record(InternalRow(text("v"), null)))
  }

  test("columns that cannot be are refused before anything is written") {
    val value = new StructType().add("value", StringType)
    Seq(
      new StructType().add("v", StringType) -> Some("t"),
      value -> None,
      new StructType().add("value", LongType) -> Some("t"),
      value.add("key", IntegerType) -> Some("t"),
      value.add("partition", LongType) -> Some("t"),
      value.add("headers", StringType) -> Some("t")
    ).foreach { case (schema, topic) =>
      withClue(schema)(assertThrows[InvalidConfiguration](KafkaColumns(schema, topic)))
    }
  }
}
