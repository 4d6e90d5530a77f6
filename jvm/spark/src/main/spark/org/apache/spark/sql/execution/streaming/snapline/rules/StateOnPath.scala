package org.apache.spark.sql.execution.streaming
package snapline.rules

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.spark.savepoint.StateSource

/** ``SELECT … FROM snapline.`path` WITH (operator = 0, state = 'total')``: Spark itself knows paths of its own file
  * formats only. It looks before the other rules do.
  */
final class StateOnPath(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case UnresolvedRelation(Seq(format, path), options, false)
        if conf.runSQLonFile && format.toLowerCase(Locale.ROOT) == StateSource.Name && path.contains("/") =>
      val all = new CaseInsensitiveStringMap((options.asCaseSensitiveMap.asScala.toMap + ("path" -> path)).asJava)
      DataSourceV2Relation.create(StateSource.table(session, all), None, None, all)
  }
}
