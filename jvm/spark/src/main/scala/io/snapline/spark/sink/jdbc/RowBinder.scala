package io.snapline.spark.sink.jdbc

import java.sql.PreparedStatement

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.jdbc.JdbcDialect
import org.apache.spark.sql.types._

import io.snapline.error.InvalidConfiguration

/** Hands the columns of rows to a statement, in their order.
  *
  * @param keys
  *   columns in which null is refused
  */
private[jdbc] final class RowBinder(schema: StructType, keys: Seq[StructField], dialect: JdbcDialect) {
  private val setters = schema.fields.map(field => RowBinder.setter(field.dataType, dialect))
  private val nulls = schema.fields.map(field => JdbcUtils.getJdbcType(field.dataType, dialect).jdbcNullType)
  private val isKey = schema.fields.map(field => keys.contains(field))

  def bind(statement: PreparedStatement, row: InternalRow): Unit = {
    var at = 0
    while (at < setters.length) {
      if (!row.isNullAt(at)) setters(at)(statement, row, at)
      else if (!isKey(at)) statement.setNull(at + 1, nulls(at))
      else throw new InvalidConfiguration(
        s"A row has null in the column ${schema(at).name}, which is one of the ${JdbcSettings.Keys}: it would " +
          "replace none, for in a database no null is the same as another.",
        "leave such rows out with filter(), or give the column a value with coalesce()."
      )
      at += 1
    }
  }
}

private[jdbc] object RowBinder {
  private type Setter = (PreparedStatement, InternalRow, Int) => Unit

  def check(field: StructField): Unit = field.dataType match {
    case IntegerType | LongType | DoubleType | FloatType | ShortType | ByteType | BooleanType | BinaryType | DateType |
        TimestampType | TimestampNTZType | _: StringType | _: DecimalType => ()
    case other => throw new InvalidConfiguration(
        s"The column ${field.name} is of type ${other.sql}, which the sink does not write.",
        "make it text, for example with to_json(), or take it apart into columns."
      )
  }

  private def setter(kind: DataType, dialect: JdbcDialect): Setter = kind match {
    case IntegerType => (statement, row, at) => statement.setInt(at + 1, row.getInt(at))
    case LongType => (statement, row, at) => statement.setLong(at + 1, row.getLong(at))
    case DoubleType => (statement, row, at) => statement.setDouble(at + 1, row.getDouble(at))
    case FloatType => (statement, row, at) => statement.setFloat(at + 1, row.getFloat(at))
    case ShortType => (statement, row, at) => statement.setInt(at + 1, row.getShort(at).toInt)
    case ByteType => (statement, row, at) => statement.setInt(at + 1, row.getByte(at).toInt)
    case BooleanType => (statement, row, at) => statement.setBoolean(at + 1, row.getBoolean(at))
    case _: StringType => (statement, row, at) => statement.setString(at + 1, row.getUTF8String(at).toString)
    case BinaryType => (statement, row, at) => statement.setBytes(at + 1, row.getBinary(at))
    case DateType => (statement, row, at) => statement.setDate(at + 1, DateTimeUtils.toJavaDate(row.getInt(at)))
    case TimestampType =>
      (statement, row, at) => statement.setTimestamp(at + 1, DateTimeUtils.toJavaTimestamp(row.getLong(at)))
    case TimestampNTZType => (statement, row, at) =>
        val local = DateTimeUtils.microsToLocalDateTime(row.getLong(at))
        statement.setTimestamp(at + 1, dialect.convertTimestampNTZToJavaTimestamp(local))
    case decimal: DecimalType => (statement, row, at) =>
        statement.setBigDecimal(at + 1, row.getDecimal(at, decimal.precision, decimal.scale).toJavaBigDecimal)
    case other => throw new IllegalArgumentException(s"$other was checked.")
  }
}
