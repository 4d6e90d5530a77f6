package org.apache.spark.sql.execution.streaming
package snapline.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.internal.SQLConf

/** Gives a real-time query the store that `snapline.start` has chosen for it. Spark refuses such a query if its session
  * names another store than Spark's own. This rule runs after that check, and before Spark copies the session for the
  * query. The session is one that `snapline.start` has made for this query alone.
  */
final class RealTimeRule(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case write: WriteToStreamStatement if write.trigger.isInstanceOf[RealTimeTrigger] =>
        session.conf.getOption(RealTimeRule.Provider).foreach { provider =>
          session.conf.set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, provider)
          // No setting of stores, which refuse those that they do not know.
          session.conf.unset(RealTimeRule.Provider)
        }
      case _ => ()
    }
    plan
  }
}

private object RealTimeRule {
  val Provider = "spark.snapline.real-time.provider"
}
