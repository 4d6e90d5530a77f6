package io.snapline.state

/** What is fixed about a column family (one named state) when it is made.
  *
  * @param id
  *   0 to 65,535, never used for another family of the same store
  * @param keyGroups
  *   whether keys begin with a key group
  * @param multi
  *   whether values are lists that `merge` appends to
  * @param internal
  *   whether the operator made it for itself (timers, expiry, counts)
  */
final case class FamilyDescriptor(id: Int, name: String, keyGroups: Boolean, multi: Boolean, internal: Boolean)

object FamilyDescriptor {
  val MaxId: Int = 65535
}
