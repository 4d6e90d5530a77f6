package io.snapline.spark.operator.task

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

import io.snapline.spark.operator.state.EpochKeys

/** Finds the slots of a partition's rows by their keys. */
sealed trait RowSlots {
  def slotOf(row: InternalRow): Int

  /** With the epoch's keys. */
  def clear(): Unit
}

object RowSlots {

  /** @param ordinals
    *   where the key's columns stand in a row
    */
  def of(key: StructType, ordinals: Seq[Int], keyOf: InternalRow => UnsafeRow, keys: EpochKeys): RowSlots =
    (key.map(_.dataType), ordinals) match {
      case (Seq(LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType), Seq(at)) =>
        new SlotsByWord(_.getLong(at), at, keyOf, keys)
      case (Seq(IntegerType | DateType | _: YearMonthIntervalType), Seq(at)) =>
        new SlotsByWord(_.getInt(at).toLong, at, keyOf, keys)
      case _ => new SlotsByRow(keyOf, keys)
    }
}

/** Any key: as the row that it is stored as. */
private final class SlotsByRow(keyOf: InternalRow => UnsafeRow, keys: EpochKeys) extends RowSlots {
  override def slotOf(row: InternalRow): Int = keys.slotOf(keyOf(row))
  override def clear(): Unit = ()
}

/** One column of a fixed length, equal where its 64 bits are: a key that was seen before is found without making a row
  * of it. Remembers what the epoch's keys know, up to a bound; whatever it has not is asked of them.
  */
private final class SlotsByWord(word: InternalRow => Long, at: Int, keyOf: InternalRow => UnsafeRow, keys: EpochKeys)
    extends RowSlots {
  private var words = new Array[Long](SlotsByWord.Least)
  // One more than the slot; 0: nothing is here.
  private var places = new Array[Int](SlotsByWord.Least)
  private var count = 0

  override def slotOf(row: InternalRow): Int =
    if (row.isNullAt(at)) keys.slotOf(keyOf(row))
    else {
      val wanted = word(row)
      val i = find(wanted)
      if (places(i) > 0) places(i) - 1
      else {
        val slot = keys.slotOf(keyOf(row))
        remember(i, wanted, slot)
        slot
      }
    }

  private def find(wanted: Long): Int = {
    val mask = places.length - 1
    val mixed = wanted * SlotsByWord.Mix
    var i = (mixed ^ (mixed >>> 32)).toInt & mask
    while (places(i) > 0 && words(i) != wanted) i = (i + 1) & mask
    i
  }

  private def remember(free: Int, wanted: Long, slot: Int): Unit =
    if (count < places.length / 2) {
      words(free) = wanted
      places(free) = slot + 1
      count += 1
    } else if (places.length < SlotsByWord.Most) {
      val (oldWords, oldPlaces) = (words, places)
      words = new Array[Long](oldWords.length * 4)
      places = new Array[Int](oldPlaces.length * 4)
      oldPlaces.indices.foreach { old =>
        if (oldPlaces(old) > 0) {
          val i = find(oldWords(old))
          words(i) = oldWords(old)
          places(i) = oldPlaces(old)
        }
      }
      remember(find(wanted), wanted, slot)
    }

  override def clear(): Unit = {
    // The array of a large epoch is not walked for a small one.
    if (places.length > SlotsByWord.Kept) {
      words = new Array[Long](SlotsByWord.Least)
      places = new Array[Int](SlotsByWord.Least)
    } else Arrays.fill(places, 0)
    count = 0
  }
}

private object SlotsByWord {

  /** Places: 12 bytes each, of which half are in use at most. */
  private val Least = 1 << 10
  private val Most = 1 << 18

  /** No more than this is kept from one epoch to the next. */
  private val Kept = 1 << 14

  /** Odd, without a pattern: keys in a row, or multiples of something, are spread. */
  private val Mix = 0x9e3779b97f4a7c15L
}
