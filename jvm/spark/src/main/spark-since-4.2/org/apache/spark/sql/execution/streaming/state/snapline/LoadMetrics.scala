package org.apache.spark.sql.execution.streaming.state
package snapline

/** Figures of a store's version that not every line of Spark shows. */
object LoadMetrics {
  def of(loadedFromStorage: Boolean, forcedSnapshot: Boolean): Map[StateStoreCustomMetric, Long] = Map(
    RocksDBStateStoreProvider.CUSTOM_METRIC_LOADED_FROM_DFS -> (if (loadedFromStorage) 1L else 0L),
    RocksDBStateStoreProvider.CUSTOM_METRIC_FORCE_SNAPSHOT -> (if (forcedSnapshot) 1L else 0L)
  )
}
