package io.snapline.spark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.execution.streaming.snapline.rules.{
  BarrierRule, EvictionRule, RealTimeRule, StartRule, StateOnPath
}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.snapline.AnyProviderRule

import io.snapline.spark.settings.SparkLineCheck
import org.apache.spark.sql.execution.python.snapline.{KeyedProcessStrategy, UniqueUids}

/** Add this class to `spark.sql.extensions` for keyed functions in Python, and to run Spark's transformWithState on
  * Snapline's store.
  */
class SnaplineExtension extends (SparkSessionExtensions => Unit) {
  SparkLineCheck.run()

  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPlannerStrategy(_ => KeyedProcessStrategy)
    extensions.injectHintResolutionRule(new StateOnPath(_))
    extensions.injectHintResolutionRule(new RealTimeRule(_))
    extensions.injectCheckRule(new StartRule(_))
    extensions.injectCheckRule(_ => UniqueUids)
    extensions.injectColumnar(_ => BarrierRule)
    extensions.injectColumnar(_ => EvictionRule)
    extensions.injectColumnar(_ => new AnyProviderRule(classOf[SnaplineStateStoreProvider].getName))
  }
}
