package org.apache.spark.sql.execution.streaming.state
package snapline

import java.nio.file.Files

import org.apache.spark.memory.UnifiedMemoryManager
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.util.Utils
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.LocalSpark

/** What Spark's memory manager sees of the memory that stores take. */
class StateMemorySpec extends AnyFunSuite {
  private val polling = "spark.memory.unmanagedMemoryPollingInterval" -> "100ms"

  private def reported: Long = UnifiedMemoryManager.getMemoryByComponentType(StateMemory.Component)

  private def run(spark: SparkSession, keys: Int)(look: => Unit): Unit = {
    import spark.implicits._
    val checkpoint = Files.createTempDirectory("checkpoint").toFile
    val input = MemoryStream[Long](spark)
    val query = input.toDF().groupBy("value").count().writeStream.format("noop").outputMode("update")
      .option("checkpointLocation", checkpoint.getPath).start()
    try {
      input.addData(0L until keys.toLong)
      query.processAllAvailable()
      look
    } finally {
      query.stop()
      Utils.deleteRecursively(checkpoint)
    }
  }

  test(
    "rows that stores hold, of either backend, are counted while they are there, and by one application after another"
  ) {
    for (backend <- Seq("rocksdb", "hashmap"); _ <- 1 to 2)
      LocalSpark(LocalSpark.provider, polling, "spark.snapline.state.backend.type" -> backend) { spark =>
        val before = reported
        run(spark, 100000) {
          val bytes = reported - before
          assert(bytes > 100000L * 16, s"$bytes bytes with $backend")
        }
      }
  }

  test("the manager has less to give by what stores take") {
    LocalSpark(LocalSpark.provider, polling) { spark =>
      run(spark, 100000) {
        val deadline = System.nanoTime() + 20000000000L
        while (UnifiedMemoryManager.getUnmanagedMemoryUsed < 100000L * 16 && System.nanoTime() < deadline)
          Thread.sleep(20)
        assert(UnifiedMemoryManager.getUnmanagedMemoryUsed >= 100000L * 16)
      }
    }
  }
}
