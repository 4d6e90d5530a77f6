package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.{CheckpointingMode, CoordinatorSettings, RetentionPolicy}
import io.snapline.spark.protocol.{Alignment, ChannelLimits}

class CheckpointSpecSpec extends AnyFunSuite {
  private def json(interval: String, unaligned: String, uploads: Boolean = false): String =
    s"""{"interval_ms": $interval, "timeout_ms": 600000, "min_pause_ms": 7, "max_concurrent": 2, "tolerable_failures": 3,
       | "retained": 4, "retention": "RETAIN_ON_FAILURE", "mode": "AT_LEAST_ONCE", "unaligned": $unaligned,
       | "upload_changelogs": $uploads}""".stripMargin

  private val settings = CoordinatorSettings(
    Some(5000000000L),
    600000,
    7,
    2,
    3,
    4,
    RetentionPolicy.RetainOnFailure,
    CheckpointingMode.AtLeastOnce
  )

  test("each member has its place, whatever the width of a number") {
    val limits =
      """{"timeout_ms": 9, "max_channel_bytes": 1099511627776, "max_channel_rows": 3, "max_batches_behind": 2, "fails": true}"""
    val unaligned = Alignment.Unaligned(9, ChannelLimits(1L << 40, 3, 2, fails = true))
    assert(CheckpointSpec.parse(json("5000000000", limits)) == CheckpointSpec(settings, unaligned))
    assert(CheckpointSpec.parse(json("5000000000", "null")) == CheckpointSpec(settings))
    val uploading = CheckpointSpec(settings, uploadsChangelogs = true)
    assert(CheckpointSpec.parse(json("5000000000", "null", uploads = true)) == uploading)
    assert(CheckpointSpec.parse(json("10", "null")).settings.intervalMs.contains(10L))
  }

  test("without an interval every batch is durable by itself") {
    val spec = CheckpointSpec.parse(json("null", "null"))
    assert(spec == CheckpointSpec(settings.copy(intervalMs = None)) && spec.durableBatches)
    assert(!CheckpointSpec(settings).durableBatches)
  }
}
