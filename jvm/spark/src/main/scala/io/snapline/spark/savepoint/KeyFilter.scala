package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types._

/** The conditions of filters on a state's key: columns that must equal a value. A filter that may not mean the bytes of
  * the stored key is passed over. Spark applies all filters to the rows read.
  *
  * @param shown
  *   the key's columns as users see them: [[StateColumns]]
  */
private[savepoint] final class KeyFilter(family: FamilyLayout, shown: StructType, filters: Seq[Expression]) {
  private val values: Map[Seq[Int], Any] = filters.flatMap(bound).toMap

  /** The key that all rows must have. */
  val point: Option[InternalRow] =
    if (family.key.isEmpty) None else row(family.key, Nil, _ => true)

  /** The partition in which all rows must have been. */
  def partition(parallelism: Int): Option[Int] = family.placement match {
    case Placement.First => Some(0)
    case Placement.Hashed(paths) =>
      def hashed(leaf: Seq[Int]): Boolean = paths.exists(leaf.startsWith(_))
      row(family.key, Nil, hashed).flatMap { known =>
        new KeyPartition(family.key, family.placement, parallelism).of(UnsafeProjection.create(family.key)(known))
      }
    case _ => None
  }

  /** With null for leaves that are not needed; None: one that is needed has no value. */
  private def row(struct: StructType, path: Seq[Int], needed: Seq[Int] => Boolean): Option[InternalRow] = {
    val fields = struct.fields.zipWithIndex.map { case (field, i) =>
      val here = path :+ i
      field.dataType match {
        case nested: StructType => row(nested, here, needed)
        case _ if values.contains(here) => values.get(here)
        case _ => if (needed(here)) None else Some(null)
      }
    }
    if (fields.forall(_.isDefined)) Some(InternalRow.fromSeq(fields.map(_.get).toSeq)) else None
  }

  private def bound(filter: Expression): Option[(Seq[Int], Any)] = filter match {
    case EqualTo(column, Literal(value, t)) if value != null => leaf(column, t).map(_ -> value)
    case EqualTo(Literal(value, t), column) if value != null => leaf(column, t).map(_ -> value)
    case EqualNullSafe(column, Literal(value, t)) => safely(column, value, t)
    case EqualNullSafe(Literal(value, t), column) => safely(column, value, t)
    case IsNull(column) => safely(column, null, column.dataType)
    case _ => None
  }

  /** A column of a struct is null, too, where the struct is: only a column of the key itself is known to be null. */
  private def safely(column: Expression, value: Any, t: DataType): Option[(Seq[Int], Any)] =
    leaf(column, t).filter(path => value != null || path.size == 1).map(_ -> value)

  private def leaf(column: Expression, literal: DataType): Option[Seq[Int]] =
    names(column).filter(_.head == StateColumns.Key).flatMap { path =>
      find(family.key, shown, path.tail).collect { case (found, t) if t == literal && KeyFilter.isExact(t) => found }
    }

  private def names(column: Expression): Option[Seq[String]] = column match {
    case attribute: AttributeReference => Some(Seq(attribute.name))
    case GetStructField(struct, _, Some(name)) => names(struct).map(_ :+ name)
    case field @ GetStructField(struct, _, None) => names(struct).map(_ :+ field.extractFieldName)
    case _ => None
  }

  private def find(stored: StructType, shown: StructType, path: Seq[String]): Option[(Seq[Int], DataType)] =
    path.headOption.map(name => shown.fieldNames.indexWhere(_.equalsIgnoreCase(name)))
      .filter(at => at >= 0 && at < stored.length)
      .flatMap { at =>
        (stored(at).dataType, shown(at).dataType) match {
          case (inner: StructType, outer: StructType) =>
            find(inner, outer, path.tail).map { case (found, t) => (at +: found, t) }
          case (t, _) => if (path.size == 1) Some((Seq(at), t)) else None
        }
      }
}

private object KeyFilter {

  /** Whether equal values have equal bytes, as they do not where 0.0 = -0.0 or a collation says what is equal. */
  def isExact(t: DataType): Boolean = t match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | BinaryType => true
    case DateType | TimestampType | TimestampNTZType | _: DecimalType => true
    case text: StringType => UnsafeRowUtils.isBinaryStable(text)
    case _ => false
  }
}
