package io.snapline.state.heap

import java.util.{Arrays, Comparator}

/** The rows of a map in the order of their keys: a B+ tree, kept from the first scan on.
  *
  * A walk takes the root as it stands. While `shared` says that somebody walks, a node is copied before a change unless
  * it was made since the last walk began. One thread.
  */
private[heap] final class OrderedRows(rows: Array[Array[Byte]], account: HeapAccount, shared: () => Boolean) {
  import OrderedRows._

  private var edit = new Object
  private var counted = 0L
  private var root: Node =
    try build(rows)
    catch {
      // Nobody gets a tree that could be closed, and its nodes are garbage.
      case e: Throwable => close(); throw e
    }

  /** Walks the rows of this moment; later changes do not show. */
  def walk(from: Array[Byte]): Walk = {
    edit = new Object
    new Walk(root, from)
  }

  /** A row whose key is not there yet. */
  def add(row: Array[Byte]): Unit = {
    root = own(root)
    val right = insert(root, row)
    if (right != null) {
      val above = inner()
      above.put(0, root, Array.emptyByteArray)
      above.put(1, right, separator(right))
      root = above
    }
  }

  /** Another array for a key that is there. */
  def replace(row: Array[Byte]): Unit = {
    root = own(root)
    var node = root
    while (!node.isLeaf) {
      val i = node.childOf(row)
      val child = own(node.child(i))
      node.items(i) = child
      node = child
    }
    node.items(node.lowerBound(row)) = row
  }

  def remove(row: Array[Byte]): Unit = {
    root = own(root)
    take(root, row)
    while (!root.isLeaf && root.size == 1) {
      drop(root)
      root = root.child(0)
    }
    if (!root.isLeaf && root.size == 0) {
      drop(root)
      root = leaf()
    }
  }

  def close(): Unit = account.add(-counted)

  private def insert(node: Node, row: Array[Byte]): Node =
    if (node.isLeaf) {
      val at = node.lowerBound(row)
      if (node.size < Fan) {
        node.insert(at, row, null)
        null
      } else {
        // Rows that come in order leave full leaves behind.
        val right = node.splitAt(if (at == Fan) Fan else Fan / 2, leaf())
        if (right.size == 0 || at > node.size) right.insert(at - node.size, row, null)
        else node.insert(at, row, null)
        right
      }
    } else {
      val i = node.childOf(row)
      val child = own(node.child(i))
      node.items(i) = child
      val fresh = insert(child, row)
      if (fresh == null) null
      else if (node.size < Fan) {
        node.insert(i + 1, fresh, separator(fresh))
        null
      } else {
        val right = node.splitAt(if (i + 1 == Fan) Fan - 1 else Fan / 2, inner())
        if (i + 1 > node.size) right.insert(i + 1 - node.size, fresh, separator(fresh))
        else node.insert(i + 1, fresh, separator(fresh))
        right
      }
    }

  private def take(node: Node, row: Array[Byte]): Unit =
    if (node.isLeaf) node.removeAt(node.lowerBound(row))
    else {
      val i = node.childOf(row)
      val child = own(node.child(i))
      node.items(i) = child
      take(child, row)
      if (child.size == 0) {
        drop(child)
        node.removeAt(i)
      } else if (child.size < Fan / 4 && node.size > 1) merge(node, if (i + 1 < node.size) i else i - 1)
    }

  /** Joins two neighbours when there is room for both in one. */
  private def merge(node: Node, i: Int): Unit = {
    val (left, right) = (node.child(i), node.child(i + 1))
    if (left.size + right.size <= Fan * 3 / 4) {
      val joined = own(left)
      node.items(i) = joined
      joined.append(right, node.keys(i + 1))
      drop(right)
      node.removeAt(i + 1)
    }
  }

  private def separator(node: Node): Array[Byte] = if (node.isLeaf) Row.copyKey(node.row(0)) else node.keys(0)

  private def own(node: Node): Node =
    if ((node.owner eq edit) || !shared()) node else node.copy(edit)

  private def leaf(): Node = count(new Node(edit, null))
  private def inner(): Node = count(new Node(edit, new Array[Array[Byte]](Fan)))

  private def count(node: Node): Node = {
    // First: the account keeps what it refuses.
    counted += node.bytes
    account.add(node.bytes)
    node
  }

  private def drop(node: Node): Unit = {
    account.add(-node.bytes)
    counted -= node.bytes
  }

  private def build(rows: Array[Array[Byte]]): Node = {
    Arrays.sort(rows, ByKey)
    var level: IndexedSeq[Node] = rows.grouped(Filled).map { run =>
      val node = leaf()
      run.foreach(row => node.insert(node.size, row, null))
      node
    }.toIndexedSeq
    while (level.size > 1) {
      level = level.grouped(Filled).map { run =>
        val node = inner()
        run.foreach(child => node.insert(node.size, child, separator(child)))
        node
      }.toIndexedSeq
    }
    level.headOption.getOrElse(leaf())
  }
}

private[heap] object OrderedRows {
  private val Fan = 64

  /** Entries of a node that is built at once. There is room to grow. */
  private val Filled = 48
  private val ByKey: Comparator[Array[Byte]] = (a, b) => Row.compare(a, b)

  /** @param keys
    *   the least key of each child of an inner node, or one before it; null in a leaf
    */
  private final class Node(val owner: AnyRef, val keys: Array[Array[Byte]]) {
    var items = new Array[AnyRef](Fan)
    private var count = 0

    def isLeaf: Boolean = keys == null
    def size: Int = count
    def row(i: Int): Array[Byte] = items(i).asInstanceOf[Array[Byte]]
    def child(i: Int): Node = items(i).asInstanceOf[Node]

    /** Separators are as long as keys; an inner node has few neighbours, so they are not counted. */
    def bytes: Long = HeapLayout.instance(3, 4) + HeapLayout.references(Fan) * (if (isLeaf) 1 else 2)

    /** Place of the first row of a leaf that is not below. */
    def lowerBound(row: Array[Byte]): Int = lowerBound(row, Row.KEY, Row.keyLength(row))

    def lowerBound(key: Array[Byte], offset: Int, length: Int): Int = {
      var (low, high) = (0, count)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (Row.compare(row(middle), key, offset, length) < 0) low = middle + 1 else high = middle
      }
      low
    }

    def childOf(row: Array[Byte]): Int = childOf(row, Row.KEY, Row.keyLength(row))

    /** The child that has the key, if any has. */
    def childOf(key: Array[Byte], offset: Int, length: Int): Int = {
      var (low, high) = (1, count)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (Arrays.compareUnsigned(keys(middle), 0, keys(middle).length, key, offset, offset + length) <= 0) {
          low = middle + 1
        } else high = middle
      }
      low - 1
    }

    def put(at: Int, item: AnyRef, key: Array[Byte]): Unit = {
      items(at) = item
      if (keys != null) keys(at) = key
      count = math.max(count, at + 1)
    }

    def insert(at: Int, item: AnyRef, key: Array[Byte]): Unit = {
      System.arraycopy(items, at, items, at + 1, count - at)
      if (keys != null) System.arraycopy(keys, at, keys, at + 1, count - at)
      count += 1
      put(at, item, key)
    }

    def removeAt(at: Int): Unit = {
      count -= 1
      System.arraycopy(items, at + 1, items, at, count - at)
      items(count) = null
      if (keys != null) {
        System.arraycopy(keys, at + 1, keys, at, count - at)
        keys(count) = null
      }
    }

    /** Moves what stands from `at` on into an empty node. */
    def splitAt(at: Int, right: Node): Node = {
      var i = at
      while (i < count) {
        right.put(i - at, items(i), if (keys == null) null else keys(i))
        items(i) = null
        if (keys != null) keys(i) = null
        i += 1
      }
      count = at
      right
    }

    /** @param key
      *   separates the two
      */
    def append(right: Node, key: Array[Byte]): Unit = {
      var i = 0
      while (i < right.size) {
        put(count, right.items(i), if (keys == null) null else if (i == 0) key else right.keys(i))
        i += 1
      }
    }

    def copy(owner: AnyRef): Node = {
      val copied = new Node(owner, if (keys == null) null else keys.clone())
      copied.items = items.clone()
      copied.count = count
      copied
    }
  }

  /** A walk from the first row that is not below `from` (null: from the first). */
  final class Walk private[OrderedRows] (root: Node, from: Array[Byte]) {
    private val nodes = new Array[Node](Deepest)
    private val places = new Array[Int](Deepest)
    private var depth = 0
    descend(root, seeking = from != null)

    /** The next row, or null. */
    def next(): Array[Byte] = {
      while (depth > 0 && places(depth - 1) == nodes(depth - 1).size) {
        depth -= 1
        if (depth > 0) {
          places(depth - 1) += 1
          if (places(depth - 1) < nodes(depth - 1).size) {
            descend(nodes(depth - 1).child(places(depth - 1)), seeking = false)
          }
        }
      }
      if (depth == 0) null
      else {
        val row = nodes(depth - 1).row(places(depth - 1))
        places(depth - 1) += 1
        row
      }
    }

    private def descend(top: Node, seeking: Boolean): Unit = {
      var node = top
      while (node != null) {
        nodes(depth) = node
        places(depth) =
          if (!seeking) 0
          else if (node.isLeaf) node.lowerBound(from, 0, from.length)
          else node.childOf(from, 0, from.length)
        depth += 1
        node = if (node.isLeaf) null else node.child(places(depth - 1))
      }
    }
  }

  /** Half-filled nodes in so many levels hold more rows than an array. */
  private val Deepest = 12
}
