package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GetStructField}
import org.apache.spark.sql.types.{DataType, StructType}

/** Which partition the entries of one state belong to, for any number of partitions. */
sealed trait Placement

object Placement {

  /** Where Spark's hash of these columns of the key says; a path of field numbers leads to each. */
  final case class Hashed(paths: Seq[Seq[Int]]) extends Placement

  /** There is no key to spread by: everything is in partition 0, whatever the parallelism. */
  case object First extends Placement

  /** Every partition has the same entries, which describe its store. */
  case object Every extends Placement

  /** The key is a position in a list of the partition. Elements are dealt out evenly, in order, if the parallelism
    * changes; or every partition gets all.
    */
  final case class Dealt(union: Boolean) extends Placement

  /** Nobody knows, so the entries stay where they are, and their number of partitions with them. */
  final case class Fixed(why: String) extends Placement

  /** By all columns of a key, but for the last few. */
  def byColumns(key: StructType, dropped: Int = 0): Placement = hashed((0 until key.length - dropped).map(Seq(_)))

  /** By the columns of a struct within the key. */
  def byStruct(key: StructType, path: Int*): Placement = {
    val struct = path.foldLeft[DataType](key)((within, i) => within.asInstanceOf[StructType].fields(i).dataType)
    struct match {
      case struct: StructType => hashed(struct.indices.map(path :+ _))
      case _ => hashed(Seq(path))
    }
  }

  private def hashed(paths: Seq[Seq[Int]]): Placement = if (paths.isEmpty) First else Hashed(paths)

  /** The expression that a path leads to, in a row of the key. */
  def column(key: StructType, path: Seq[Int]): Expression = {
    val field = key.fields(path.head)
    path.tail.foldLeft[Expression](BoundReference(path.head, field.dataType, field.nullable))(GetStructField(_, _))
  }
}
