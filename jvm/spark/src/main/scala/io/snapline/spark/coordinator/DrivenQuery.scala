package io.snapline.spark.coordinator

import java.util.UUID

/** The query under a driver, as Spark runs it. */
private[coordinator] trait DrivenQuery {

  /** Ends a run wherever it is, and waits for that. */
  def stop(run: UUID): Unit

  /** The driver is closed, maybe not for the first time. */
  def closed(driver: CheckpointDriver): Unit
}
