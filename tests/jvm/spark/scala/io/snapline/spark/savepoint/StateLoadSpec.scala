package io.snapline.spark.savepoint

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.util.SerializableConfiguration
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.LocalSpark
import io.snapline.state.LocalFolder
import io.snapline.storage.FullDiskFileSystem

/** A store that cannot be written. */
class StateLoadSpec extends AnyFunSuite {
  private val number = new StructType().add("value", LongType)
  private val family = FamilyLayout(
    StateStore.DEFAULT_COL_FAMILY_NAME,
    number,
    number,
    NoPrefixKeyStateEncoderSpec(number).json,
    multi = false,
    Placement.byColumns(number)
  )
  private val operator =
    OperatorLayout(0, "dedupe", None, 1, Nil, Seq(StoreLayout("default", Seq(family))))

  /** Of Spark's store: its commit is the first that writes a file. */
  test("fails with the reason, and not with that of the close after it") {
    val root = Files.createTempDirectory("snapline-load").toFile
    try LocalSpark(
        LocalSpark.ProviderClass -> "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.lockAcquireTimeoutMs" -> "500",
        // Some lines tell the driver of each snapshot, which knows of none without a query.
        "spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag" -> "false",
        "spark.task.maxFailures" -> "1"
      ) { spark =>
        val task = new StoreTask(
          root.getPath,
          operator,
          operator.stores.head,
          SessionInternals.storeConf(spark),
          new SerializableConfiguration(full(SessionInternals.hadoopConfiguration(spark))),
          None
        )
        val rows = spark.sparkContext.emptyRDD[InternalRow]
        val table = SessionInternals.frame(spark, rows, StateColumns.of(operator, family))
        val failure = intercept[SparkException](new StateLoad(task, 1, 1).run(Seq(table)))
        val texts = Iterator.iterate[Throwable](failure)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("; ")
        assert(texts.contains("No space left on device"), texts)
        assert(!texts.contains("UNRELEASED"), texts)
      }
    finally LocalFolder.delete(root)
  }

  private def full(hadoop: Configuration): Configuration = {
    val full = new Configuration(hadoop)
    FullDiskFileSystem.in(full)
    // Another manager would not ask this file system.
    full.set(
      SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS.parent.key,
      classOf[FileSystemBasedCheckpointFileManager].getName
    )
    full
  }
}
