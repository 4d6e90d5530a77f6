package io.snapline.spark.settings

import java.net.{URL, URLClassLoader}
import java.nio.file.Files
import java.util.Properties

import org.apache.spark.SPARK_VERSION
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.WrongSparkVersion
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.{SnaplineExtension, SnaplineStateStoreProvider}

class SparkLineCheckSpec extends AnyFunSuite {
  private val properties = new Properties
  properties.load(getClass.getClassLoader.getResourceAsStream("snapline/version.properties"))
  private val line = properties.getProperty("spark.line")
  private val lines = properties.getProperty("spark.lines").split(' ').toSeq

  test("every release of the jar's line is served, and this is one") {
    SparkLineCheck.run()
    assert(SPARK_VERSION.startsWith(s"$line."))
    Seq("0", "7", "1-SNAPSHOT").foreach(patch => SparkLineCheck.run(s"$line.$patch"))
  }

  test("another line that has a jar is refused, and the text says which") {
    val others = lines.filter(_ != line)
    assert(others.nonEmpty)
    others.foreach { other =>
      val e = intercept[WrongSparkVersion](SparkLineCheck.run(s"$other.0"))
      assert(e.code == "SNAPLINE-SPARK")
      assert(e.found.contains(s"serves Spark $line; this is Spark $other.0"))
      assert(e.action.contains(s"snapline-spark-${other}_2.13-${SparkLineCheck.version}.jar"))
    }
  }

  test("a line that has none is refused, and the text says which have") {
    val e = intercept[WrongSparkVersion](SparkLineCheck.run("3.5.1"))
    assert(e.action.contains(s"none for Spark 3.5, only for ${lines.mkString(" and ")}: use Spark $line"))
  }

  Seq(classOf[SnaplineStateStoreProvider], classOf[SnaplineExtension], classOf[SnaplinePlugin]).foreach { entry =>
    test(s"${entry.getSimpleName} asks before anything else") {
      val folder = Files.createTempDirectory("line")
      Files.createDirectory(folder.resolve("snapline"))
      Files.writeString(
        folder.resolve("snapline/version.properties"),
        "version=1.2.3\nspark.line=9.9\nspark.lines=9.9\n"
      )
      val other = new OwnClasses(folder.toUri.toURL +: classpath)
      val made = intercept[java.lang.reflect.InvocationTargetException](
        other.loadClass(entry.getName).getConstructor().newInstance()
      )
      assert(made.getCause.getClass.getName == classOf[WrongSparkVersion].getName)
      assert(made.getCause.getMessage.contains(s"1.2.3 serves Spark 9.9; this is Spark $SPARK_VERSION"))
    }
  }

  private def classpath: Seq[URL] =
    System.getProperty(
      "java.class.path"
    ).split(':').toSeq.filter(_.contains("/target/")).map(new java.io.File(_).toURI.toURL)

  /** Snapline's classes anew, with the version of another jar; Spark's are the ones that run. */
  private final class OwnClasses(urls: Seq[URL]) extends URLClassLoader(urls.toArray, getClass.getClassLoader) {
    override def loadClass(name: String, resolve: Boolean): Class[_] =
      if (!name.startsWith("io.snapline.") && !name.contains(".snapline.")) super.loadClass(name, resolve)
      else getClassLoadingLock(name).synchronized(Option(findLoadedClass(name)).getOrElse(findClass(name)))

    override def getResourceAsStream(name: String): java.io.InputStream =
      Option(findResource(name)).map(_.openStream()).getOrElse(super.getResourceAsStream(name))
  }
}
