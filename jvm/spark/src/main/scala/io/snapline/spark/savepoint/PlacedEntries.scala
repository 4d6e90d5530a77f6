package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types.StructType

import io.snapline.error.IncompatibleState

/** Says of entries that somebody made where they belong. One thread.
  *
  * @param entry
  *   their columns: key and value
  */
private[savepoint] final class PlacedEntries(
    operator: OperatorLayout,
    family: FamilyLayout,
    entry: StructType,
    maxParallelism: Int
) {
  private val key =
    UnsafeProjection.create(if (family.key.isEmpty) family.key else entry.head.dataType.asInstanceOf[StructType])
  private val keyColumns = entry.head.dataType.asInstanceOf[StructType].length
  private val hash = KeyHash.of(family.key, family.placement)

  def of(entries: Iterator[InternalRow]): Iterator[InternalRow] = family.placement match {
    case Placement.Hashed(_) => entries.map(placed)
    case Placement.First => entries.map(placed)
    case _ => throw new IncompatibleState(
        s"State ${family.name} of ${operator.title} has no keys that say where they belong.",
        "leave it as it is."
      )
  }

  private def placed(entry: InternalRow): InternalRow = {
    if (entry.isNullAt(0) || entry.isNullAt(1)) {
      throw new IncompatibleState(
        s"A row of the table for state ${family.name} of ${operator.title} has no key or no value.",
        "give every row both."
      )
    }
    val row = key(entry.getStruct(0, keyColumns))
    val made = new GenericInternalRow(4)
    val found = hash.map(_(row))
    made.update(0, found.fold(0)(Math.floorMod(_, operator.parallelism)))
    made.update(1, found.map(of => Int.box(Math.floorMod(of, maxParallelism))).orNull)
    made.update(2, entry.getStruct(0, keyColumns))
    made.update(3, if (family.multi) entry.getArray(1) else entry.getStruct(1, valueColumns))
    made
  }

  private val valueColumns = entry(1).dataType match {
    case struct: StructType => struct.length
    case _ => 0
  }
}
