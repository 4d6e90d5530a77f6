package io.snapline.spark.savepoint

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A state in the stores of a checkpoint, as of one version. */
private[savepoint] final class StateTable(
    scan: StateScan,
    operator: OperatorLayout,
    family: FamilyLayout,
    override val name: String
) extends Table
    with SupportsRead {
  override def schema: StructType = StateColumns.of(operator, family)

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new StateScanBuilder(scan, operator, family, schema)
}

/** Where filters name a whole key, one partition's store is asked for it; where they name the columns it is spread by,
  * one partition's is read.
  */
private final class StateScanBuilder(
    scan: StateScan,
    operator: OperatorLayout,
    family: FamilyLayout,
    schema: StructType
) extends ScanBuilder
    with SupportsPushDownCatalystFilters {
  private var filter = new KeyFilter(family, keyColumns, Nil)

  private def keyColumns: StructType = schema(StateColumns.Key).dataType.asInstanceOf[StructType]

  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = {
    filter = new KeyFilter(family, keyColumns, filters)
    filters
  }

  /** Spark applies all of them itself. */
  override def pushedFilters: Array[Predicate] = Array.empty

  override def build(): Scan = {
    val partitions = filter.partition(operator.parallelism).fold((0 until operator.parallelism).toArray)(Array(_))
    val point = filter.point.filter(_ => partitions.length == 1)
      .map(key => UnsafeProjection.create(family.key)(key).getBytes)
    new StateBatch(scan, partitions, point, schema, s"${family.name} of ${operator.title}")
  }
}

private final class StateBatch(
    scan: StateScan,
    partitions: Array[Int],
    point: Option[Array[Byte]],
    override val readSchema: StructType,
    state: String
) extends Scan
    with Batch {
  override def description(): String =
    s"state $state: ${point.fold("all keys")(_ => "one key")} in ${partitions.length} partitions"

  override def toBatch: Batch = this

  override def planInputPartitions(): Array[InputPartition] = partitions.map(StatePartition(_, point))

  override def createReaderFactory(): PartitionReaderFactory = new StateReaders(scan)
}

/** @param point
  *   the bytes of the key's row; None: all keys
  */
private final case class StatePartition(partition: Int, point: Option[Array[Byte]]) extends InputPartition

private final class StateReaders(scan: StateScan) extends PartitionReaderFactory {
  override def createReader(part: InputPartition): PartitionReader[InternalRow] = part match {
    case StatePartition(partition, point) => new StateReader(point.fold(scan.rows(partition))(scan.row(partition, _)))
    case other => throw new IllegalArgumentException(s"$other is no partition of a state.")
  }
}

/** The end of the task closes the store. */
private final class StateReader(rows: Iterator[InternalRow]) extends PartitionReader[InternalRow] {
  private var row: InternalRow = _

  override def next(): Boolean = {
    val more = rows.hasNext
    if (more) row = rows.next()
    more
  }

  override def get(): InternalRow = row

  override def close(): Unit = ()
}
