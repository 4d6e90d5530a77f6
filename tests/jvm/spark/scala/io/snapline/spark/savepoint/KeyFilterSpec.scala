package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class KeyFilterSpec extends AnyFunSuite {
  private val window = new StructType().add("start", TimestampType).add("end", TimestampType)
  private val key = new StructType().add("window", window).add("k", LongType).add("name", StringType)

  private def family(key: StructType, placement: Placement): FamilyLayout =
    FamilyLayout("f", key, new StructType().add("v", LongType), "{}", multi = false, placement)

  private def filter(filters: Expression*): KeyFilter = of(key, Placement.byColumns(key), filters: _*)

  private def of(key: StructType, placement: Placement, filters: Expression*): KeyFilter =
    new KeyFilter(family(key, placement), StateColumns.struct(key, "here"), filters)

  private def column(key: StructType, path: String*): Expression = {
    val start: Expression = AttributeReference("key", StateColumns.struct(key, "here"))()
    path.foldLeft(start) { (struct, name) =>
      GetStructField(struct, struct.dataType.asInstanceOf[StructType].fieldIndex(name), Some(name))
    }
  }

  private def is(path: String*)(value: Any): Expression = EqualTo(column(key, path: _*), Literal(value))

  private val begin = EqualTo(column(key, "window", "start"), Literal(5L, TimestampType))
  private val end = EqualTo(Literal(7L, TimestampType), column(key, "window", "end"))
  private val whole = InternalRow(InternalRow(5L, 7L), 3L, UTF8String.fromString("a"))

  test("all leaves make a key, from whatever side and in whatever order") {
    val found = filter(is("name")("a"), end, is("k")(3L), begin)
    assert(found.point.contains(whole))
    val partition = new KeyPartition(key, Placement.byColumns(key), 16).of(UnsafeProjection.create(key)(whole))
    assert(found.partition(16) == partition)
  }

  test("a leaf that is missing, or only bounded, makes none") {
    for (
      filters <- Seq(
        Seq(begin, end, is("k")(3L)),
        Seq(begin, end, is("k")(3L), GreaterThan(column(key, "name"), Literal("a"))),
        Seq(begin, is("k")(3L), is("name")("a")),
        Seq(Or(is("name")("a"), is("name")("b")), begin, end, is("k")(3L))
      )
    ) {
      val found = filter(filters: _*)
      assert(found.point.isEmpty)
      assert(found.partition(16).isEmpty)
    }
  }

  test("the columns it is spread by name the partition, though they are not the whole key") {
    val spread = Placement.Hashed(Seq(Seq(1)))
    val found = of(key, spread, is("k")(3L))
    assert(found.point.isEmpty)
    assert(found.partition(16) == new KeyPartition(key, spread, 16).of(UnsafeProjection.create(key)(whole)))
    assert(of(key, spread, is("name")("a")).partition(16).isEmpty)
    // A struct is one column, of which all leaves are needed.
    val struct = Placement.Hashed(Seq(Seq(0)))
    assert(of(key, struct, begin).partition(16).isEmpty)
    assert(of(key, struct, begin, end).partition(16).isDefined)
    assert(of(key, Placement.First).partition(16).contains(0))
    assert(of(key, Placement.Fixed("why"), begin, end, is("k")(3L), is("name")("a")).partition(16).isEmpty)
  }

  test("null is a value of a column of the key, and in a struct it may be the struct's") {
    val rest = Seq(begin, end, is("k")(3L))
    val due = InternalRow(InternalRow(5L, 7L), 3L, null)
    assert(filter(rest :+ IsNull(column(key, "name")): _*).point.contains(due))
    val safe = EqualNullSafe(column(key, "name"), Literal(null, StringType))
    assert(filter(rest :+ safe: _*).point.contains(due))
    val inStruct = Seq(IsNull(column(key, "window", "start")), end, is("k")(3L), is("name")("a"))
    assert(filter(inStruct: _*).point.isEmpty)
    assert(filter(rest :+ EqualTo(column(key, "name"), Literal(null, StringType)): _*).point.isEmpty)
  }

  test("what may be equal without the same bytes is passed over") {
    for (t <- Seq(DoubleType, FloatType, StringType("UTF8_LCASE"), ArrayType(LongType))) {
      val one = new StructType().add("x", t)
      val literal = t match {
        case DoubleType => Literal(0.0)
        case FloatType => Literal(0.0f)
        case text: StringType => Literal(UTF8String.fromString("a"), text)
        case _ => Literal.create(Seq(1L), t)
      }
      assert(of(one, Placement.byColumns(one), EqualTo(column(one, "x"), literal)).point.isEmpty, t)
    }
    // Of another type, as behind a cast.
    assert(filter(begin, end, is("k")(3), is("name")("a")).point.isEmpty)
    assert(filter(begin, end, EqualTo(Cast(column(key, "k"), IntegerType), Literal(3)), is("name")("a")).point.isEmpty)
  }

  test("names that people see lead to the columns of the store") {
    val twice = new StructType().add("sum", LongType).add("sum", LongType)
    def sum(name: String, value: Long): Expression = EqualTo(column(twice, name), Literal(value))
    val found = of(twice, Placement.byColumns(twice), sum("sum_2", 2L), sum("sum", 1L))
    assert(found.point.contains(InternalRow(1L, 2L)))
  }

  test("columns of other structs are not the key's") {
    val value = AttributeReference("value", StateColumns.struct(key, "here"))()
    val other = EqualTo(GetStructField(value, 1, Some("k")), Literal(3L))
    assert(filter(begin, end, other, is("name")("a")).point.isEmpty)
  }

  test("a key without columns has one entry, which needs no look-up") {
    val empty = new StructType()
    assert(of(empty, Placement.First, IsNull(column(empty, "nothing"))).point.isEmpty)
  }
}
