package org.apache.spark.ui
package snapline.history

import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.{CheckpointsListener, CheckpointsStore, CheckpointsUi}

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.SparkListener
import org.apache.spark.status.{AppHistoryServerPlugin, ElementTrackingStore}
import org.apache.spark.ui.snapline.CheckpointsTab

/** Makes the tab again from an event log. The history server finds it when our jar is on its class path. */
final class CheckpointsHistoryPlugin extends AppHistoryServerPlugin {
  override def createListeners(conf: SparkConf, store: ElementTrackingStore): Seq[SparkListener] =
    Seq(new CheckpointsListener(store, UiSettings.read(conf.getAll.toMap)))

  override def setupUI(ui: SparkUI): Unit = {
    val store = new CheckpointsStore(ui.store.store)
    if (!store.isEmpty) new CheckpointsTab(ui, CheckpointsUi.pages(store)): Unit
  }

  /** Behind Structured Streaming. */
  override def displayOrder: Int = 3
}
