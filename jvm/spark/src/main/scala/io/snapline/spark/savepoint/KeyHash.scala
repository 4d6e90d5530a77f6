package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions.{Pmod, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.types.StructType

import io.snapline.error.{IncompatibleState, InternalError}

/** The hash that Spark's shuffle takes of a key: modulo a number of partitions it is the key's partition. One thread.
  */
private[savepoint] final class KeyHash(key: StructType, paths: Seq[Seq[Int]]) {
  private val projection = {
    val columns = paths.map(Placement.column(key, _))
    HashPartitioning(columns, 1).partitionIdExpression match {
      case Pmod(hash, _, _) => UnsafeProjection.create(Seq(hash))
      case other => throw new InternalError(s"Spark shuffles by $other.")
    }
  }

  def apply(row: UnsafeRow): Int = projection(row).getInt(0)
}

private[savepoint] object KeyHash {

  /** None: a key of the state does not say where it belongs. */
  def of(key: StructType, placement: Placement): Option[KeyHash] = placement match {
    case Placement.Hashed(paths) => Some(new KeyHash(key, paths))
    case _ => None
  }

  /** The error for a key that is not where its hash says: it would be lost if the state were spread anew. */
  def misplaced(operator: OperatorLayout, state: String, partition: Int, place: Int): IncompatibleState =
    new IncompatibleState(
      s"A key in partition $partition of state $state of ${operator.title} belongs to partition $place of ${operator.parallelism}.",
      "report it with the query's plan: by what this operator spreads its keys was taken wrongly, or the checkpoint was changed by hand."
    )
}
