package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types._

/** The changes of a state's type that are allowed between two runs of a query: fields added if they may be null, fields
  * removed, numbers widened without loss.
  */
object SchemaChange {

  def isNone(old: StructType, now: StructType): Boolean = DataTypeUtils.sameType(old, now)

  /** The reasons why values of the old type cannot be read as values of the new. Each names the field, and its old and
    * new type.
    */
  def problems(old: DataType, now: DataType, path: String): Seq[String] = (old, now) match {
    case (o, n) if DataTypeUtils.sameType(o, n) => Nil
    case (o: StructType, n: StructType) =>
      val kept = n.fields.toSeq.flatMap(field => at(o, field.name).map(o(_) -> field))
      if (kept.isEmpty) Seq(s"$path: ${o.sql} -> ${n.sql} keeps no field")
      else
        kept.flatMap { case (before, after) => problems(before.dataType, after.dataType, s"$path.${after.name}") } ++
          n.fields.toSeq.filter(field => at(o, field.name).isEmpty && !field.nullable).map { field =>
            s"$path.${field.name}: is new and NOT NULL"
          }
    case (o: ArrayType, n: ArrayType) => problems(o.elementType, n.elementType, s"$path.element")
    case (o: MapType, n: MapType) if DataTypeUtils.sameType(o.keyType, n.keyType) =>
      problems(o.valueType, n.valueType, s"$path.value")
    case (o, n) if widens(o, n) => Nil
    case (o, n) => Seq(s"$path: ${o.sql} -> ${n.sql}")
  }

  /** Turns rows of the old schema into rows of the new; the change must have no problems. */
  def projection(old: StructType, now: StructType): UnsafeProjection = UnsafeProjection.create(
    now.fields.toSeq.map { field =>
      at(old, field.name) match {
        case Some(i) => convert(BoundReference(i, old(i).dataType, nullable = true), field.dataType)
        case None => Literal.create(null, field.dataType)
      }
    }
  )

  private def at(struct: StructType, name: String): Option[Int] =
    Some(struct.fieldNames.indexOf(name)).filter(_ >= 0)

  private def convert(value: Expression, to: DataType): Expression = (value.dataType, to) match {
    case (o, n) if DataTypeUtils.sameType(o, n) => value
    case (o: StructType, n: StructType) =>
      val fields = n.fields.toSeq.flatMap { field =>
        val of = at(o, field.name) match {
          case Some(i) => convert(GetStructField(value, i), field.dataType)
          case None => Literal.create(null, field.dataType)
        }
        Seq(Literal(field.name), of)
      }
      If(IsNull(value), Literal.create(null, CreateNamedStruct(fields).dataType), CreateNamedStruct(fields))
    case (o: ArrayType, n: ArrayType) =>
      val element = NamedLambdaVariable("element", o.elementType, nullable = true)
      ArrayTransform(value, LambdaFunction(convert(element, n.elementType), Seq(element)))
    case (o: MapType, n: MapType) =>
      val key = NamedLambdaVariable("key", o.keyType, nullable = false)
      val entry = NamedLambdaVariable("value", o.valueType, nullable = true)
      TransformValues(value, LambdaFunction(convert(entry, n.valueType), Seq(key, entry)))
    case _ => Cast(value, to)
  }

  private val integral = Seq[DataType](ByteType, ShortType, IntegerType, LongType)
  private val digits = Map[DataType, Int](ByteType -> 3, ShortType -> 5, IntegerType -> 10, LongType -> 19)

  /** Every value of the old type is one of the new. */
  private def widens(old: DataType, now: DataType): Boolean = (old, now) match {
    case (o, n) if integral.contains(o) && integral.contains(n) => integral.indexOf(o) < integral.indexOf(n)
    case (FloatType, DoubleType) => true
    case (ByteType | ShortType | IntegerType, DoubleType) => true
    case (ByteType | ShortType, FloatType) => true
    case (o, n: DecimalType) if digits.contains(o) => n.precision - n.scale >= digits(o)
    case (o: DecimalType, n: DecimalType) => n.scale >= o.scale && n.precision - n.scale >= o.precision - o.scale
    case _ => false
  }
}
