package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions.{Pmod, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.types.StructType

import io.snapline.error.{IncompatibleState, InternalError}
import io.snapline.keygroup.KeyGroups
import io.snapline.spark.operator.channel.{ChannelState, RowSchema}
import io.snapline.state.FamilyDescriptor

/** Says of keys as they are stored which of the new partitions they belong to, and holds them against the old one. One
  * thread.
  */
private[savepoint] final class KeyRoutes(operator: TargetOperator, encodings: Encodings, maxParallelism: Int) {
  private val (before, after) = (operator.layout.parallelism, operator.partitions)

  /** Whether no key group has keys in two partitions, so that the group at the beginning of a key says enough. */
  private val whole = maxParallelism % before == 0 && maxParallelism % after == 0

  /** @param stored
    *   how the family is kept
    * @param from
    *   the partition it is in
    */
  def of(family: FamilyLayout, stored: FamilyDescriptor, from: Int): Array[Byte] => Int = {
    def checked(hash: Int): Int = this.checked(hash, family.name, from)
    family.placement match {
      // A key group is the hash modulo a multiple of both numbers.
      case Placement.Hashed(_) if whole && stored.keyGroups => key => checked(KeyGroups.read(key, 0))
      case Placement.Hashed(paths) =>
        val (codec, hash) = (encodings.of(family), new KeyHash(family.key, paths))
        key => checked(hash(codec.decodeKey(key)))
      case Placement.First =>
        key => 0
      case _ =>
        key => from
    }
  }

  /** The route of rows that wait in a partition. */
  def ofRows(rows: RowSchema, from: Int): UnsafeRow => Int = {
    val key = rows.key.getOrElse(
      throw new IncompatibleState(
        s"Rows that wait in partition $from of ${operator.layout.title} have no key that says where they belong.",
        "start the query, let it process all of them (numChannelRows in its progress), and do it then."
      )
    )
    val hash = new KeyHash(rows.columns, key.map(Seq(_)))
    row => checked(hash(row), ChannelState.Family, from)
  }

  private def checked(hash: Int, state: String, from: Int): Int = {
    val place = Math.floorMod(hash, before)
    if (place != from) throw KeyHash.misplaced(operator.layout, state, from, place)
    Math.floorMod(hash, after)
  }
}

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

/** Computes what Spark's shuffle computes: the partition of a key, or with the maximum parallelism its key group. One
  * thread.
  */
private[savepoint] final class KeyPartition(key: StructType, placement: Placement, parallelism: Int) {
  private val hash = KeyHash.of(key, placement)

  /** None: the key does not say. */
  def of(row: UnsafeRow): Option[Int] = hash.map(of => Math.floorMod(of(row), parallelism))
}
