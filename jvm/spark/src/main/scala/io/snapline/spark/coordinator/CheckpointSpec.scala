package io.snapline.spark.coordinator

import org.json4s.DefaultFormats
import org.json4s.jackson.JsonMethods

import io.snapline.checkpoint.{CheckpointingMode, CoordinatorSettings, RetentionPolicy}
import io.snapline.spark.protocol.{Alignment, ChannelLimits}

/** The settings of one query's checkpoints, as `snapline.start` gives them.
  *
  * @param settings
  *   the coordinator's settings. Without `intervalMs` every batch is durable by itself, and checkpoints are taken at
  *   the first barrier of a run and when a user triggers them
  * @param alignment
  *   the alignment of batches that run for the first time
  * @param uploadsChangelogs
  *   with an interval: whether each batch's changelogs go to storage behind it
  */
final case class CheckpointSpec(
    settings: CoordinatorSettings,
    alignment: Alignment = Alignment.Aligned,
    uploadsChangelogs: Boolean = false
) {
  def durableBatches: Boolean = settings.intervalMs.isEmpty

  /** The coordinator itself takes a checkpoint at every barrier where no interval is set. */
  private[coordinator] def coordinatorSettings: CoordinatorSettings =
    if (durableBatches) settings.copy(intervalMs = Some(Long.MaxValue)) else settings
}

object CheckpointSpec {
  private implicit val formats: DefaultFormats.type = DefaultFormats

  private final case class Unaligned(
      timeout_ms: Long,
      max_channel_bytes: Long,
      max_channel_rows: Long,
      max_batches_behind: Int,
      fails: Boolean
  )

  private final case class Members(
      interval_ms: Option[Long],
      timeout_ms: Long,
      min_pause_ms: Long,
      max_concurrent: Int,
      tolerable_failures: Int,
      retained: Int,
      retention: String,
      mode: String,
      unaligned: Option[Unaligned],
      upload_changelogs: Boolean
  )

  /** @param json
    *   the result of `CheckpointConfig.to_spec` in Python
    */
  def parse(json: String): CheckpointSpec = {
    val spec = JsonMethods.parse(json).extract[Members]
    CheckpointSpec(
      CoordinatorSettings(
        spec.interval_ms,
        spec.timeout_ms,
        spec.min_pause_ms,
        spec.max_concurrent,
        spec.tolerable_failures,
        spec.retained,
        RetentionPolicy.named(spec.retention),
        CheckpointingMode.named(spec.mode)
      ),
      spec.unaligned.fold[Alignment](Alignment.Aligned) { waiting =>
        val limits =
          ChannelLimits(waiting.max_channel_bytes, waiting.max_channel_rows, waiting.max_batches_behind, waiting.fails)
        Alignment.Unaligned(waiting.timeout_ms, limits)
      },
      spec.upload_changelogs
    )
  }
}
