package org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate
package snapline

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.state.snapline.AnyProvider
import org.apache.spark.sql.internal.SQLConf

/** Lets Spark's own transformWithState, in Scala and Python, run on Snapline's provider: Spark asks for its RocksDB
  * provider by class name.
  *
  * Everything else of the operators stays Spark's. Where another provider is set, plans are left alone.
  */
final class AnyProviderRule(provider: String) extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan =>
    if (plan.conf.getConf(SQLConf.STATE_STORE_PROVIDER_CLASS) != provider) plan
    else
      plan.transform {
        case exec: TransformWithStateExec if exec.getClass == classOf[TransformWithStateExec] =>
          new AnyProviderTransformWithState(exec)
        case exec: TransformWithStateInPySparkExec if exec.getClass == classOf[TransformWithStateInPySparkExec] =>
          new AnyProviderTransformWithStateInPySpark(exec)
      }
}

/** `canEqual` and `equals` set the copy apart from the original, whichever side is asked: a tree that thinks them equal
  * would keep the original. `makeCopy` is there because Spark looks for a constructor that takes every field; it asks
  * when an exchange lies above, as in front of another stateful operator.
  */
private final class AnyProviderTransformWithState(@transient private val exec: TransformWithStateExec)
    extends SameTransformWithState(exec)
    with AnyProvider {
  override protected def withNewChildrenInternal(left: SparkPlan, right: SparkPlan): TransformWithStateExec =
    new AnyProviderTransformWithState(super.withNewChildrenInternal(left, right))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan = {
    val copy = new AnyProviderTransformWithState(exec.makeCopy(newArgs).asInstanceOf[TransformWithStateExec])
    copy.copyTagsFrom(this)
    copy
  }

  override def canEqual(that: Any): Boolean = that.isInstanceOf[AnyProviderTransformWithState]

  override def equals(that: Any): Boolean = canEqual(that) && super.equals(that)

  override def hashCode: Int = super.hashCode
}

private final class AnyProviderTransformWithStateInPySpark(@transient private val exec: TransformWithStateInPySparkExec)
    extends SameTransformWithStateInPySpark(exec)
    with AnyProvider {
  override protected def withNewChildrenInternal(left: SparkPlan, right: SparkPlan): TransformWithStateInPySparkExec =
    new AnyProviderTransformWithStateInPySpark(super.withNewChildrenInternal(left, right))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan = {
    val copy =
      new AnyProviderTransformWithStateInPySpark(exec.makeCopy(newArgs).asInstanceOf[TransformWithStateInPySparkExec])
    copy.copyTagsFrom(this)
    copy
  }

  override def canEqual(that: Any): Boolean = that.isInstanceOf[AnyProviderTransformWithStateInPySpark]

  override def equals(that: Any): Boolean = canEqual(that) && super.equals(that)

  override def hashCode: Int = super.hashCode
}
