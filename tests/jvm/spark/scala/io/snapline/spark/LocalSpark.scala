package io.snapline.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.StateStore

import io.snapline.storage.LocalFs

/** A Spark of its own for a piece of a test: quiet, of two threads, with the settings given and no others of ours but
  * that for local files.
  */
object LocalSpark {
  val ProviderClass: String = "spark.sql.streaming.stateStore.providerClass"

  /** Snapline's provider, and nothing else of Snapline's. */
  val provider: (String, String) = ProviderClass -> classOf[SnaplineStateStoreProvider].getName
  val extension: (String, String) = "spark.sql.extensions" -> classOf[SnaplineExtension].getName

  /** Spark's stop of the stores waits for maintenance that may wait for a lock it holds (StateStore.scala:1556-1563):
    * for 5 minutes, if nothing is said.
    */
  private val quickStop =
    Seq("Shutdown", "ForceShutdown").map(name => s"spark.sql.streaming.stateStore.maintenance${name}Timeout" -> "3s")

  /** Nor is a process started for each entry of Spark's logs: half the time of a small batch. */
  private val localFiles = "spark.hadoop.fs.AbstractFileSystem.file.impl" -> classOf[LocalFs].getName

  /** A number that divides maxParallelism. */
  val Partitions: Int = 5

  def apply[A](settings: (String, String)*)(body: SparkSession => A): A = {
    val spark = start(settings: _*)
    try body(spark)
    finally stop(spark)
  }

  def start(settings: (String, String)*): SparkSession = {
    val builder = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.shuffle.partitions", Partitions.toString)
    (localFiles +: quickStop ++: settings).foldLeft(builder) { case (b, (name, value)) =>
      b.config(name, value)
    }.getOrCreate()
  }

  def stop(spark: SparkSession): Unit = {
    // Without this Spark closes providers at its next maintenance only.
    StateStore.stop()
    spark.stop()
  }
}
