package io.snapline.spark.savepoint

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, EqualTo, Expression, Literal}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetScanBuilder, ParquetTable}
import org.apache.spark.sql.types.{IntegerType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A state of a savepoint: Spark's Parquet files, which know a little more of their rows. */
private[savepoint] final class StateParquet(
    session: SparkSession,
    folder: String,
    operator: OperatorLayout,
    family: FamilyLayout,
    columns: StructType
) extends ParquetTable(
      s"state ${family.name} of ${operator.title} in $folder",
      session,
      StateParquet.Options,
      Seq(folder),
      Some(columns),
      classOf[ParquetFileFormat]
    ) {
  override def newScanBuilder(options: CaseInsensitiveStringMap): ParquetScanBuilder =
    new StateFilesScanBuilder(session, fileIndex, operator, family, columns, mergedOptions(options))
}

private object StateParquet {

  /** The folder's name is no pattern. */
  val Options = new CaseInsensitiveStringMap(java.util.Map.of("__globPaths__", "false"))
}

/** A filter on the columns that a key is spread by is one on the column `partition`, too: row groups of other
  * partitions are passed over by their statistics.
  */
private final class StateFilesScanBuilder(
    session: SparkSession,
    index: PartitioningAwareFileIndex,
    operator: OperatorLayout,
    family: FamilyLayout,
    columns: StructType,
    options: CaseInsensitiveStringMap
) extends ParquetScanBuilder(session, index, columns, columns, options) {
  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    val key = columns(StateColumns.Key).dataType.asInstanceOf[StructType]
    val partition = family.placement match {
      case Placement.Hashed(_) => new KeyFilter(family, key, filters).partition(operator.parallelism)
      case _ => None
    }
    val derived = partition.map { number =>
      EqualTo(AttributeReference(StateColumns.Partition, IntegerType)(), Literal(number))
    }
    super.pushFilters(filters ++ derived).filterNot(derived.contains(_))
  }
}
