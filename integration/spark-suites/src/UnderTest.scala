package org.apache.spark.sql.execution.streaming.state
package undertest

import scala.collection.mutable
import scala.io.Source
import scala.jdk.CollectionConverters._

import org.scalatest.{Args, Status}

import org.apache.spark.{SparkConf, SparkFunSuite}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.test.SharedSparkSession

import io.snapline.integration.Probe

object UnderTest {
  val ProviderKey: String = SQLConf.STATE_STORE_PROVIDER_CLASS.key
  val provider: String = sys.props("snapline.integration.provider")

  /** Of Snapline's provider, where it is not the default. */
  private val backend: Option[String] = sys.props.get("snapline.integration.backend")

  /** As `snapline.configure` sets it: half of what a small batch takes is processes that Hadoop starts for Spark's
    * logs.
    */
  private val localFiles = "spark.hadoop.fs.AbstractFileSystem.file.impl" -> "io.snapline.storage.LocalFs"

  def settings(conf: SparkConf): SparkConf =
    backend.foldLeft(conf.set(ProviderKey, provider).set(localFiles._1, localFiles._2))(
      _.set("spark.snapline.state.backend.type", _)
    )

  def newProvider(): StateStoreProvider = StateStoreProvider.create(provider)

  /** Tag of the tests left out. */
  val Skipped = "io.snapline.integration.Skipped"

  /** Variants that differ only in what does not touch a third-party provider. */
  private val redundant: Seq[String] = Seq(
    "HDFSBackedStateStoreProvider)", // a control group
    "provider: org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "(with changelog checkpointing = false)", // a setting of Spark's RocksDB provider
    "(without changelog checkpointing)"
  )

  private def isRedundant(test: String): Boolean = redundant.exists(test.contains) ||
    // The encoding is set twice, and the inner one counts.
    (test.contains("(encoding = avro)") && test.contains("(encoding = unsaferow)"))

  /** Known failures, as in the file: suite, tab, test. */
  val known: Set[String] = {
    val source = Source.fromFile(sys.props("snapline.integration.known"), "UTF-8")
    try source.getLines().filter(line => line.trim.nonEmpty && !line.startsWith("#")).toSet
    finally source.close()
  }

  /** Some known failures wait for minutes for what never comes. */
  private val withoutKnown = sys.props.contains("snapline.integration.withoutKnown")

  def isLeftOut(suite: String, test: String): Boolean =
    isRedundant(test) || (withoutKnown && known(s"$suite\t$test"))

  /** By suite and test: how often the provider under test was initialised, and how often others were. */
  val inits = mutable.Map.empty[(String, String), (Long, Long)]
}

/** Leaves tests out, and counts the providers that the others make. */
trait Traced extends SparkFunSuite {

  /** Parts of the names of tests that make no sense in this suite. */
  protected def alsoSkip: Seq[String] = Nil

  override def tags: Map[String, Set[String]] = {
    val own = super.tags
    val skipped = testNames.filter { name =>
      UnderTest.isLeftOut(getClass.getSimpleName, name) || alsoSkip.exists(name.contains)
    }
    own ++ skipped.map(name => name -> (own.getOrElse(name, Set.empty) + UnderTest.Skipped))
  }

  override protected def runTest(testName: String, args: Args): Status = {
    Probe.begin()
    try super.runTest(testName, args)
    finally {
      val counts = Probe.counts().asScala.map { case (name, count) => name -> count.sum }
      val (ours, others) = counts.partition { case (name, _) =>
        name == UnderTest.provider || name.startsWith(classOf[Disguise].getPackageName)
      }
      UnderTest.inits((getClass.getSimpleName, testName)) = (ours.values.sum, others.values.sum)
    }
  }
}

/** The provider is set as a user sets it, and tests that ask for Spark's RocksDB provider get it too. */
trait UnderTest extends SharedSparkSession with Traced {
  override protected def sparkConf: SparkConf = UnderTest.settings(super.sparkConf)

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set(UnderTest.ProviderKey, UnderTest.provider) // some suites set another in beforeAll
  }

  override protected def withSQLConf[T](pairs: (String, String)*)(f: => T): T =
    super.withSQLConf(pairs.map {
      case (UnderTest.ProviderKey, Probe.ROCKSDB) => UnderTest.ProviderKey -> UnderTest.provider
      case (UnderTest.ProviderKey, Collecting.Name) => UnderTest.ProviderKey -> classOf[Collecting].getName
      case other => other
    }: _*)(f)
}

/** Spark's transformWithState, as a user runs it on a provider that is not Spark's. */
trait WithExtension extends UnderTest {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set("spark.sql.extensions", "io.snapline.spark.SnaplineExtension")
}

/** State stores name their files by attempt, and the commit log says which ones count. */
trait CheckpointFormat2 extends SharedSparkSession {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION.key, "2")
}

/** Spark is told its RocksDB provider, and gets the one under test (see Probe). */
trait Redirected extends Traced {
  protected def redirectDefault: Boolean = false

  override def beforeAll(): Unit = {
    Probe.redirect(UnderTest.provider, redirectDefault)
    super.beforeAll()
  }

  override def afterAll(): Unit = try super.afterAll()
  finally Probe.redirectNothing()
}

trait RedirectedWithDefault extends Redirected {
  override protected def redirectDefault: Boolean = true
}
