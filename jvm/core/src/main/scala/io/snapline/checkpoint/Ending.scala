package io.snapline.checkpoint

/** How a query came to its end. Only these take checkpoints away; a restart of the same query is `started` again, not
  * an end.
  *
  * A query that someone means to start again from its checkpoint folder (`stop()`, or a trigger that ran out of data)
  * is `Suspended`, whatever Spark calls it: `Finished` discards every periodic checkpoint, as in Flink.
  */
sealed abstract class Ending(val name: String) {
  override def toString: String = name
}

object Ending {
  case object Finished extends Ending("FINISHED")
  case object Canceled extends Ending("CANCELED")
  case object Failed extends Ending("FAILED")
  case object Suspended extends Ending("SUSPENDED")

  val all: Seq[Ending] = Seq(Finished, Canceled, Failed, Suspended)
}
