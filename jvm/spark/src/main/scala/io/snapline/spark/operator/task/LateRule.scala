package io.snapline.spark.operator.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/** Which rows are late, and what becomes of them. */
final class LateRule(val isLate: InternalRow => Boolean, val divert: InternalRow => Unit)

object LateRule {
  val None: LateRule = new LateRule(_ => false, _ => ())

  /** From a late row to a row of the output in which only the side output `tag` is set. */
  def projection(setup: TaskSetup, tag: String): UnsafeProjection = UnsafeProjection.create(
    setup.output.fields.toSeq.map { field =>
      if (field.name == tag) {
        CreateNamedStruct(setup.input.zipWithIndex.flatMap { case (column, i) =>
          Seq(Literal(column.name), BoundReference(i, column.dataType, column.nullable))
        })
      } else Literal.create(null, field.dataType)
    }
  )
}
