package io.snapline.spark.coordinator

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.{CommitLog, OffsetSeqLog}

/** Spark's two logs of a query under a coordinator: it purges them itself, because a replay needs them from the oldest
  * retained checkpoint on.
  */
private[spark] final class SparkLogs(session: SparkSession, checkpoint: Path) {
  private lazy val offsets = new OffsetSeqLog(session, new Path(checkpoint, "offsets").toString)
  private lazy val commits = new CommitLog(session, new Path(checkpoint, "commits").toString)

  /** Removes entries of batches below this one. */
  def purge(batch: Long): Unit = if (batch > 0) {
    commits.purge(batch)
    offsets.purge(batch)
  }
}
