package io.snapline.spark.savepoint

import java.io.File
import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.json4s.DefaultFormats
import org.json4s.jackson.JsonMethods
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.{Cases, WholeOnly}
import io.snapline.spark.LocalSpark
import io.snapline.spark.provider.{BackendSettings, ProviderSettings}
import io.snapline.state.LocalFolder

/** Random states, from random numbers of partitions to others: what is made of the store's files and rows is what is
  * made of tables, to the byte.
  */
class NativeSavepointsSpec extends AnyFunSuite with WholeOnly with BeforeAndAfterAll {
  private var spark: SparkSession = _

  override def beforeAll(): Unit = spark = LocalSpark.start(
    LocalSpark.provider,
    "spark.local.dir" -> disk.getPath,
    "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "2",
    "spark.sql.streaming.stateStore.maintenanceInterval" -> "1h",
    // Who would be told is there once a query has run.
    "spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag" -> "false"
  )

  override def afterAll(): Unit = {
    LocalSpark.stop(spark)
    LocalFolder.delete(disk)
  }

  /** RocksDB syncs every file it writes; what tests write need not outlive the machine. */
  private lazy val disk: File = {
    val memory = new File("/dev/shm")
    val parent = if (memory.isDirectory && memory.canWrite) memory else new File(System.getProperty("java.io.tmpdir"))
    Files.createTempDirectory(parent.toPath, "snapline-native").toFile
  }

  private def folder(): String = Files.createTempDirectory(disk.toPath, "state").toString

  private def under[A](settings: (String, String)*)(body: => A): A = {
    settings.foreach { case (name, value) => spark.conf.set(name, value) }
    try body
    finally settings.foreach(setting => spark.conf.unset(setting._1))
  }

  private val checksums = "spark.sql.streaming.stateStore.rowChecksum.enabled" -> "true"

  for {
    (what, before, after, conf) <- Seq(
      ("rocksdb", "rocksdb", "rocksdb", Nil),
      ("hashmap", "hashmap", "hashmap", Nil),
      ("from rocksdb to hashmap", "rocksdb", "hashmap", Nil),
      ("from hashmap to rocksdb, with checksums of rows", "hashmap", "rocksdb", Seq(checksums))
    )
  } test(s"the same as of tables: $what") {
    val random = new Random(what.hashCode)
    // 57,600 is no multiple of 7. Another backend takes no file as it is, however many partitions there are.
    val pairs = if (before == after) Cases.some(Seq(2 -> 4, 6 -> 4, 3 -> 3, 1 -> 7))(_._1 < 3) else Seq(6 -> 4)
    val drawn = 1 + random.nextInt(7) -> (1 + random.nextInt(7))
    (pairs :+ drawn).foreach { case (p, q) =>
      withClue(s"$p -> $q: ") {
        val fixture = new StateFixture(spark, p, conf: _*)
        val (source, canonical, native, savepoint, carried) = (folder(), folder(), folder(), folder(), folder())
        val version = under(BackendSettings.Type -> before)(fixture.fill(source, random))
        under(BackendSettings.Type -> after) {
          fixture.restoreCanonical(source, version, canonical, q)
          fixture.restoreNative(source, version, native, q)
          fixture.copy(source, version, savepoint)
          fixture.restoreNative(savepoint, version, carried, q)
          val wanted = fixture.dump(canonical, version, q)
          assert(wanted._1.values.flatten.nonEmpty)
          assert(fixture.dump(native, version, q) == wanted)
          assert(fixture.dump(carried, version, q) == wanted)
        }
      }
    }
  }

  test("a copy holds the files it names, and nothing else") {
    implicit val formats: DefaultFormats.type = DefaultFormats
    val fixture = new StateFixture(spark, 3)
    val (source, savepoint) = (folder(), folder())
    val version = fixture.fill(source, new Random(3))
    val said = JsonMethods.parse(fixture.copy(source, version, savepoint))
    val named = (said \\ "files").children.flatMap(_.children).filter(_ \ "length" != org.json4s.JNothing)
    val lengths = named.map(file => (file \ "name").extract[String] -> (file \ "length").extract[Long]).toMap
    val root = new File(savepoint).toPath
    val there = Files.walk(root).iterator.asScala.filter(Files.isRegularFile(_))
      .map(file => root.relativize(file).toString -> Files.size(file)).toMap
    assert(there == lengths)
    assert(lengths.nonEmpty)
  }

  test("another version in the new folder") {
    val fixture = new StateFixture(spark, 2)
    val (source, same, wider) = (folder(), folder(), folder())
    val version = fixture.fill(source, new Random(5))
    fixture.restoreNative(source, version + 7, same, 2, Some(version))
    fixture.restoreNative(source, version + 7, wider, 3, Some(version))
    fixture.restoreCanonical(source, version, folder(), 2)
    assert(fixture.dump(same, version + 7, 2)._1.values.flatten.size > 0)
    assert(fixture.dump(wider, version + 7, 3)._1.values.flatten.size > 0)
  }

  test("a key in the wrong partition is an error, and not lost") {
    val fixture = new StateFixture(spark, 4)
    val source = folder()
    val version = fixture.fill(source, new Random(8))
    val (one, other) = (new File(source, "state/0/1"), new File(source, "state/0/2"))
    val aside = new File(source, "aside")
    assert(one.renameTo(aside) && other.renameTo(one) && aside.renameTo(other))
    val e = intercept[SparkException](fixture.restoreNative(source, version, folder(), 8))
    assert(e.getMessage.contains("SNAPLINE-INCOMPATIBLE") && e.getMessage.contains("belongs to partition"))
  }

  test("a state that the layout does not name is an error, and not lost") {
    val fixture = new StateFixture(spark, 4)
    val source = folder()
    val version = fixture.fill(source, new Random(8))
    val e = intercept[SparkException](fixture.restoreWithout("value", source, version, folder(), 8))
    assert(e.getMessage.contains("SNAPLINE-INCOMPATIBLE") && e.getMessage.contains("entries of a state value"))
    assert(e.getMessage.contains("delete_if_exists"))
  }

  test("a damaged table file is an error where nothing stands in for it") {
    val fixture = new StateFixture(spark, 1)
    val source = folder()
    val version = under(ProviderSettings.InlineThreshold -> "0", ProviderSettings.Changelog -> "false") {
      fixture.fill(source, new Random(13))
    }
    val tables = new File(source, "state/0/0/sst").listFiles().toSeq
    tables.foreach { file =>
      val bytes = Files.readAllBytes(file.toPath)
      bytes(bytes.length / 2) = (bytes(bytes.length / 2) ^ 1).toByte
      Files.write(file.toPath, bytes)
    }
    Seq(() => fixture.copy(source, version, folder()), () => fixture.restoreNative(source, version, folder(), 2))
      .foreach { act =>
        val e = intercept[SparkException](act())
        assert(e.getMessage.contains("SNAPLINE-DAMAGED"))
      }
  }

  test("what is not there") {
    val fixture = new StateFixture(spark, 2)
    val source = folder()
    val version = fixture.fill(source, new Random(21))
    val e = intercept[SparkException](fixture.copy(source, version + 1, folder()))
    assert(e.getMessage.contains("SNAPLINE-NOT-FOUND"))
  }
}
