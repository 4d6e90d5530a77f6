package io.snapline.checkpoint

import io.snapline.error.InvalidConfiguration

/** Which ends of a query its periodic checkpoints outlive: Flink's three. */
sealed abstract class RetentionPolicy(val name: String, val properties: CheckpointProperties) {
  override def toString: String = name
}

object RetentionPolicy {
  case object NeverRetainAfterTermination
      extends RetentionPolicy("NEVER_RETAIN_AFTER_TERMINATION", CheckpointProperties.NeverRetained)
  case object RetainOnFailure extends RetentionPolicy("RETAIN_ON_FAILURE", CheckpointProperties.RetainedOnFailure)
  case object RetainOnCancellation
      extends RetentionPolicy("RETAIN_ON_CANCELLATION", CheckpointProperties.RetainedOnCancellation)

  val all: Seq[RetentionPolicy] = Seq(NeverRetainAfterTermination, RetainOnFailure, RetainOnCancellation)

  /** Any case, as Flink reads its enums. */
  def named(name: String): RetentionPolicy = all.find(_.name.equalsIgnoreCase(name)).getOrElse(
    throw new InvalidConfiguration(
      s"${CoordinatorSettings.RetentionKey} is $name.",
      s"set it to one of ${all.mkString(", ")}."
    )
  )
}
