package io.snapline.spark.provider

/** Where a store is in its life, and what leads on from there. */
private[provider] sealed abstract class StorePhase(name: String) { override def toString: String = name }

private[provider] object StorePhase {
  case object Updating extends StorePhase("UPDATING")
  case object Committed extends StorePhase("COMMITTED")
  case object Aborted extends StorePhase("ABORTED")
  case object Released extends StorePhase("RELEASED")

  final class Operation(val verb: String, val leadsTo: StorePhase)
  val Update = new Operation("update", Updating)
  val Commit = new Operation("commit", Committed)
  val Abort = new Operation("abort", Aborted)
  val Release = new Operation("release", Released)
}
