import scala.math.Ordering.Implicits.*

import sbt.*

/** The Spark release Snapline is built against: SNAPLINE_SPARK, or the first in the file SPARK_LINES. */
object SparkLine {
  private def lineOf(release: String): String = release.split('.').take(2).mkString(".")

  private val releases: Seq[String] = IO.readLines(file("SPARK_LINES"))

  val version: String = sys.env.getOrElse("SNAPLINE_SPARK", releases.head)
  require(releases.contains(version), s"SNAPLINE_SPARK=$version is not in SPARK_LINES: ${releases.mkString(" ")}.")

  /** "4.2": one line of Spark keeps its private interfaces, so one jar serves all of its releases. */
  val line: String = lineOf(version)

  private def number(line: String): Seq[Int] = line.split('.').toSeq.map(_.toInt)

  val lines: Seq[String] = releases.map(lineOf).sortBy(number)

  /** Those of a source folder that a jar is made of: what all lines have in common, what the line alone has, and what
    * it has in common with all after another (`spark-since-4.2`).
    */
  def folders(sources: File): Seq[File] = {
    val later = (sources * "spark-since-*").get().filter(folder => since(folder.getName.stripPrefix("spark-since-")))
    Seq(sources / "spark", sources / s"spark-$line") ++ later
  }

  def since(first: String): Boolean = number(first) <= number(line)

  /** The release whose own suites integration/spark-suites runs: not every line's are published. */
  val suites: String = releases.head

  /** What Spark itself ships, in the pyspark of the line's venv (scripts/env.sh): what a query runs on, whatever
    * repository has the line.
    */
  val jars: Seq[File] =
    (file(sys.env.getOrElse("VENV", ".venv")).getAbsoluteFile / "lib" ** "pyspark" / "jars" * "*.jar").get().sorted
  require(jars.nonEmpty, "No pyspark in the venv: start sbt with scripts/sbt, which puts it there.")

  /** What Spark itself puts in for Java 17 (org.apache.spark.launcher.JavaModuleOptions). */
  val javaOptions: Seq[String] = Seq(
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5"
  ).map(opened => s"--add-opens=$opened=ALL-UNNAMED") ++ Seq(
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED"
  )
}
