package io.snapline.bench

import scala.collection.mutable

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider, StateStoreProviderId}

/** Runs the maintenance of every loaded store now, on the caller's thread. Spark's own timer is a wall clock, so how
  * many snapshots fall between two batches would depend on how busy the machine is; a bench that counts bytes calls
  * this instead.
  */
object StoreMaintenance {
  def run(): Int = {
    val field = StateStore.getClass.getDeclaredFields.find(_.getName.endsWith("loadedProviders")).get
    field.setAccessible(true)
    val loaded = field.get(StateStore).asInstanceOf[mutable.HashMap[StateStoreProviderId, StateStoreProvider]]
    val providers = loaded.synchronized(loaded.values.toList)
    providers.foreach(_.doMaintenance())
    providers.size
  }

  /** Closes every loaded store, so that those of one query take nothing from the next. */
  def unload(): Unit = StateStore.stop()
}
