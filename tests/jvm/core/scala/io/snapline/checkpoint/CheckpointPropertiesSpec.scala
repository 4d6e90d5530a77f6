package io.snapline.checkpoint

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration

/** The values are Flink's: CheckpointProperties and CheckpointRetentionPolicy of Flink 2.3. */
class CheckpointPropertiesSpec extends AnyFunSuite {

  test("the five, and what takes them away") {
    def flags(p: CheckpointProperties) = Seq(
      p.forced,
      p.isSavepoint,
      p.isSynchronous,
      p.discardSubsumed,
      p.discardedWhen(Ending.Finished),
      p.discardedWhen(Ending.Canceled),
      p.discardedWhen(Ending.Failed),
      p.discardedWhen(Ending.Suspended)
    ).map(if (_) 'x' else '-').mkString
    assert(CheckpointProperties.all.map(p => p.name -> flags(p)) == Seq(
      "SYNC_SAVEPOINT" -> "xxx-----",
      "SAVEPOINT" -> "xx------",
      "CHECKPOINT_NEVER_RETAINED" -> "---xxxxx",
      "CHECKPOINT_RETAINED_ON_FAILURE" -> "---xxx-x",
      "CHECKPOINT_RETAINED_ON_CANCELLATION" -> "---xx---"
    ))
    CheckpointProperties.all.foreach(p => assert(CheckpointProperties.named(p.name).contains(p)))
    assert(CheckpointProperties.named("CHECKPOINT").isEmpty)
  }

  test("each policy has its properties, and is read by its name in any case") {
    assert(RetentionPolicy.all.map(p => p.name -> p.properties.name) == Seq(
      "NEVER_RETAIN_AFTER_TERMINATION" -> "CHECKPOINT_NEVER_RETAINED",
      "RETAIN_ON_FAILURE" -> "CHECKPOINT_RETAINED_ON_FAILURE",
      "RETAIN_ON_CANCELLATION" -> "CHECKPOINT_RETAINED_ON_CANCELLATION"
    ))
    assert(RetentionPolicy.named("retain_on_failure") == RetentionPolicy.RetainOnFailure)
    val error = intercept[InvalidConfiguration](RetentionPolicy.named("KEEP"))
    assert(error.found.contains("externalized-checkpoint-retention is KEEP"))
    assert(error.action.contains("RETAIN_ON_FAILURE"))
  }
}
