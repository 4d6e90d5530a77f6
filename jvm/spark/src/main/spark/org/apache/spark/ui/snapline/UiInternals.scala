package org.apache.spark.ui
package snapline

import io.snapline.spark.ui.page.TabPage

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.util.kvstore.KVStore

/** Members of a context that only Spark's own packages can reach. */
object UiInternals {
  def hasUi(context: SparkContext): Boolean = context.ui.isDefined

  /** Where the pages of a live application find what they show. */
  def store(context: SparkContext): KVStore = context.statusStore.store

  def post(context: SparkContext, event: SparkListenerEvent): Unit = context.listenerBus.post(event)

  def attach(context: SparkContext, pages: Seq[TabPage]): Unit = context.ui.foreach(new CheckpointsTab(_, pages))
}
