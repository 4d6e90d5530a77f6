package io.snapline.state.rowtable

/** The backend of a row table, as the table sees it. */
trait PageOwner {

  /** A log page takes no more entries: hand the rest of it to the changelog and queue it. */
  def closed(page: Page): Unit

  /** The page is about to be dropped: its changes must be in RocksDB when this returns. */
  def apply(page: Page): Unit

  /** A key of the family is deleted. Whether it leaves no mark in the table: a key that is not found is nowhere. */
  def leavesNoMark(family: Int): Boolean

  /** The row of a key of the family is found in RocksDB only, from now on.
    *
    * @param hash
    *   the hash of the key, of `RowIndex.hash`
    */
  def lost(family: Int, hash: Int): Unit
}
