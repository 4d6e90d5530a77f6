package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.snapline.error.IncompatibleState
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

  /** Of rows that wait in a partition. */
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
