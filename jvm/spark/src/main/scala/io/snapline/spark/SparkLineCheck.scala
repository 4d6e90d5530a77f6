package io.snapline.spark

import java.util.Properties

import org.apache.spark.SPARK_VERSION

import io.snapline.error.WrongSparkVersion

/** Refuses to run on a Spark whose private interfaces are not the ones this jar was compiled against. */
private[spark] object SparkLineCheck {
  private val properties: Properties = {
    val properties = new Properties
    val stream = getClass.getClassLoader.getResourceAsStream("snapline/version.properties")
    if (stream != null) {
      try properties.load(stream)
      finally stream.close()
    }
    properties
  }

  val version: String = properties.getProperty("version", "unknown")
  private val line: String = properties.getProperty("spark.line", "unknown")

  def run(running: String = SPARK_VERSION): Unit =
    if (running.split('.').take(2).mkString(".") != line) {
      throw new WrongSparkVersion(
        s"This jar of Snapline $version serves Spark $line; this is Spark $running.",
        s"install the Snapline for Spark $running, or Spark $line."
      )
    }
}
