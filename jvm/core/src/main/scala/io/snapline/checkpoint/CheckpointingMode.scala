package io.snapline.checkpoint

import io.snapline.error.InvalidConfiguration

/** What a recovery from a checkpoint promises. */
sealed abstract class CheckpointingMode(val name: String)

object CheckpointingMode {

  /** State is as if each row had been counted once. */
  case object ExactlyOnce extends CheckpointingMode("EXACTLY_ONCE")

  /** A store need not keep to its checkpoint's barrier: its snapshot may hold rows of later batches, which a replay
    * then counts again.
    */
  case object AtLeastOnce extends CheckpointingMode("AT_LEAST_ONCE")

  val all: Seq[CheckpointingMode] = Seq(ExactlyOnce, AtLeastOnce)

  def named(name: String): CheckpointingMode = all.find(_.name == name).getOrElse(throw new InvalidConfiguration(
    s"${CoordinatorSettings.Prefix}mode is $name.",
    s"set it to one of ${all.map(_.name).mkString(", ")}."
  ))
}
