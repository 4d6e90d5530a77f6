package io.snapline.spark.settings

import java.util.Properties

import org.apache.spark.SPARK_VERSION

import io.snapline.error.WrongSparkVersion

/** Refuses to run on a Spark whose private interfaces are not the ones this jar was compiled against. Asked first
  * wherever Spark enters: what comes after it may not even link.
  */
object SparkLineCheck {
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
  private val lines: Seq[String] = properties.getProperty("spark.lines", "").split(' ').toSeq

  def run(running: String = SPARK_VERSION): Unit = {
    val theirs = running.split('.').take(2).mkString(".")
    if (theirs != line) {
      throw new WrongSparkVersion(
        s"This jar of Snapline $version serves Spark $line; this is Spark $running.",
        if (lines.contains(theirs))
          s"use snapline-spark-${theirs}_2.13-$version.jar, which is in the same package, or Spark $line."
        else s"there is none for Spark $theirs, only for ${lines.mkString(" and ")}: use Spark $line."
      )
    }
  }
}
