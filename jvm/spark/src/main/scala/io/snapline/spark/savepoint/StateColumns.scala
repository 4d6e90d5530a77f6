package io.snapline.spark.savepoint

import scala.collection.mutable

import org.apache.spark.sql.types._

import io.snapline.error.IncompatibleState

/** The columns in which people and Parquet see a state: those of the store, with names and types that Parquet can hold.
  * The rows stay as they are.
  *
  * Spark's states have columns of one name twice (two sums), and columns without a type.
  */
private[savepoint] object StateColumns {
  val Partition = "partition"
  val KeyGroup = "key_group"
  val Key = "key"
  val Value = "value"

  def of(operator: OperatorLayout, family: FamilyLayout): StructType = {
    val where = s"state ${family.name} of ${operator.title}"
    val value = struct(family.value, where)
    new StructType()
      .add(Partition, IntegerType, nullable = false)
      .add(KeyGroup, IntegerType)
      .add(Key, struct(family.key, where))
      .add(Value, if (family.multi) ArrayType(value, containsNull = false) else value)
  }

  /** The columns of a key or a value. An empty one gets a column that is always null, for Parquet has no empty structs.
    */
  def struct(stored: StructType, where: String): StructType = {
    val names = mutable.Set.empty[String]
    val fields = stored.fields.map { field =>
      val name = Iterator.from(1).map(i => if (i == 1) field.name else s"${field.name}_$i").find(free(names, _)).get
      names += name.toLowerCase
      StructField(name, column(field.dataType, where), nullable = true)
    }
    if (fields.isEmpty) StructType(Seq(StructField(Nothing, BooleanType))) else StructType(fields)
  }

  private val Nothing = "nothing"

  private def free(names: mutable.Set[String], name: String): Boolean = !names(name.toLowerCase)

  private def column(stored: DataType, where: String): DataType = stored match {
    // Always null, and laid out in a row like any other column of eight bytes.
    case NullType => BooleanType
    case StructType(fields) if fields.isEmpty => refuse(stored, where)
    case nested: StructType => struct(nested, where)
    case ArrayType(element, containsNull) => ArrayType(column(element, where), containsNull)
    case MapType(key, value, containsNull) => MapType(column(key, where), column(value, where), containsNull)
    case udt: UserDefinedType[_] => column(udt.sqlType, where)
    case CalendarIntervalType => refuse(stored, where)
    case other => other
  }

  private def refuse(found: DataType, where: String): Nothing = throw new IncompatibleState(
    s"The $where has a column of type ${found.sql}, which Parquet cannot hold.",
    "leave that type out of keys and states."
  )
}
