package io.snapline.spark.promises

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.streaming.StreamingQuery

/** A physical plan as lines that are the same for the same plan: without the numbers and ids Spark deals out anew each
  * time.
  */
private[promises] object PlanText {

  /** Of the last batch. */
  def of(query: StreamingQuery): Seq[String] =
    of(query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan)

  def of(plan: SparkPlan): Seq[String] =
    plan.treeString.linesIterator.map(plain).toSeq ++ nodes(plan).map(_.getClass.getName)

  private def nodes(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case adaptive: AdaptiveSparkPlanExec => adaptive +: nodes(adaptive.executedPlan)
    case other => other +: (other.children ++ other.innerChildren.collect { case p: SparkPlan => p }).flatMap(nodes)
  }

  private def plain(line: String): String = Seq(
    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}" -> "uuid",
    "#\\d+L?" -> "#",
    "plan_id=\\d+" -> "plan_id",
    "@[0-9a-f]+" -> "@",
    "file:[^,\\]]+" -> "path",
    "\\$\\$Lambda[^, ]*" -> "lambda",
    "\\b\\d{13}\\b" -> "time"
  ).foldLeft(line) { case (text, (pattern, replacement)) => text.replaceAll(pattern, replacement) }
}
