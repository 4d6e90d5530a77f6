package io.snapline.state.rocksdb

import java.util.Arrays

import io.snapline.state.rowtable.RowIndex

/** Key lists by their prefix, with a number each. Chained hashing over plain arrays, so that a list costs little beside
  * its bytes. A clock says which goes first: a list that nobody has looked for while the hand went round.
  */
private[rocksdb] final class PrefixTable {
  import PrefixTable._

  /** Number and one; 0: none. */
  private var heads = new Array[Int](Smallest)
  private var nexts = new Array[Int](Smallest)
  private var hashes = new Array[Int](Smallest)
  private var lists = new Array[Array[Byte]](Smallest)
  private var rounds = new Array[Int](Smallest)
  private var wasUsed = new Array[Boolean](Smallest)

  /** Numbers from here on were never given. */
  private var end = 0
  private var free = 0
  private var count = 0
  private var hand = 0

  def isEmpty: Boolean = count == 0

  /** The number of the list of a prefix, or -1. */
  def find(bytes: Array[Byte], offset: Int, size: Int): Int = {
    val hash = hashOf(bytes, offset, size)
    var at = heads(hash & heads.length - 1) - 1
    while (at >= 0 && !(hashes(at) == hash && KeyList.hasPrefix(lists(at), bytes, offset, size))) at = nexts(at) - 1
    if (at >= 0) wasUsed(at) = true
    at
  }

  def list(number: Int): Array[Byte] = lists(number)

  def replace(number: Int, list: Array[Byte]): Unit = lists(number) = list

  /** The round in which one of its keys was changed last, as `changed` was told. */
  def changedIn(number: Int): Int = rounds(number)

  def changed(number: Int, round: Int): Unit = rounds(number) = round

  /** Adds a list whose prefix `find` did not find. */
  def add(list: Array[Byte], round: Int): Unit = {
    val number = newNumber()
    lists(number) = list
    rounds(number) = round
    wasUsed(number) = true
    hashes(number) = hashOf(list, KeyList.PrefixAt, KeyList.prefixSize(list))
    chain(number)
    count += 1
  }

  def remove(number: Int): Unit = {
    val head = hashes(number) & heads.length - 1
    if (heads(head) == number + 1) heads(head) = nexts(number)
    else {
      var at = heads(head) - 1
      while (nexts(at) != number + 1) at = nexts(at) - 1
      nexts(at) = nexts(number)
    }
    lists(number) = null
    nexts(number) = free
    free = number + 1
    count -= 1
  }

  /** The number of a list that is to go first. There is one. */
  def eldest(): Int = {
    while (lists(hand) == null || wasUsed(hand)) {
      wasUsed(hand) = false
      hand = (hand + 1) % end
    }
    hand
  }

  private def newNumber(): Int =
    if (free > 0) {
      val number = free - 1
      free = nexts(number)
      number
    } else {
      if (end == lists.length) grow()
      end += 1
      end - 1
    }

  private def grow(): Unit = {
    val size = lists.length * 2
    nexts = Arrays.copyOf(nexts, size)
    hashes = Arrays.copyOf(hashes, size)
    lists = Arrays.copyOf(lists, size)
    rounds = Arrays.copyOf(rounds, size)
    wasUsed = Arrays.copyOf(wasUsed, size)
    heads = new Array[Int](size)
    // All are in use: nothing was free.
    (0 until end).foreach(chain)
  }

  private def chain(number: Int): Unit = {
    val head = hashes(number) & heads.length - 1
    nexts(number) = heads(head)
    heads(head) = number + 1
  }
}

private object PrefixTable {
  private val Smallest = 16

  private def hashOf(bytes: Array[Byte], offset: Int, size: Int): Int = {
    val mixed = RowIndex.hash(0, bytes, offset, size) * 0x9e3779b9
    mixed ^ (mixed >>> 16)
  }
}
