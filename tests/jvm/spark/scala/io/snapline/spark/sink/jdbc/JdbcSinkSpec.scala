package io.snapline.spark.sink.jdbc

import java.io.File
import java.sql.DriverManager
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{InvalidConfiguration, StorageFailure}
import io.snapline.spark.sink._

/** On Derby, which Spark ships. */
class JdbcSinkSpec extends AnyFunSuite {
  private val schema = new StructType().add("k", IntegerType).add("v", StringType)
  private val sink = SinkId("query", "out")
  private val databases = new AtomicInteger

  private def settings(more: (String, String)*): JdbcSettings = {
    val url = s"jdbc:derby:memory:sink${databases.incrementAndGet()};create=true"
    JdbcSettings(new CaseInsensitiveStringMap((Map("url" -> url, "dbtable" -> "totals") ++ more).asJava))
  }

  private def run(settings: JdbcSettings): (SinkRun, JdbcTarget) =
    (new SinkRun(sink, "run", SinkOptions(None, None, warnsOfDifference = false)), new JdbcTarget(settings, schema))

  private def row(k: Int, v: String): InternalRow = InternalRow(k, UTF8String.fromString(v))

  private def write(batch: SinkBatch, partition: Int, rows: InternalRow*): Try[Written] = {
    val writer = new ExactlyOnceWriter(batch, partition, schema)
    try Try {
        rows.foreach(writer.write)
        writer.commit().asInstanceOf[Written]
      }
    finally writer.close()
  }

  private def query(settings: JdbcSettings, text: String): Seq[String] = {
    val connection = DriverManager.getConnection(settings.url)
    try {
      val found = connection.createStatement().executeQuery(text)
      val width = found.getMetaData.getColumnCount
      Iterator.continually(found).takeWhile(_.next())
        .map(row => (1 to width).map(column => row.getString(column)).mkString(" "))
        .toList
    } finally connection.close()
  }

  test("tables are made, and rows and marker of a batch are there once") {
    val to = settings()
    val (query1, target) = run(to)
    val first = query1.begin(target, 0, 2)
    assert(write(first, 0, row(1, "a"), row(2, null)).get.skipped == false)
    assert(write(first, 0, row(2, null), row(1, "a")).get.skipped)
    assert(query(to, "SELECT * FROM totals ORDER BY 1") == Seq("1 a", "2 null"))
    assert(query(to, "SELECT sink, part, batch, parts, row_count FROM snapline_markers") ==
      Seq("query/out 0 0 2 2"))
    // Another run of the query.
    val (query2, again) = run(to)
    val second = query2.begin(again, 0, 2)
    assert(second.known.markers.keySet == Set(0))
    assert(write(second, 0, row(1, "a"), row(2, null)).get.skipped)
    assert(write(second, 1, row(3, "c")).get.skipped == false)
    assert(query(to, "SELECT count(*) FROM totals") == Seq("3"))
  }

  test("an attempt waits for another that has the marker's row, and then skips") {
    val to = settings()
    val (query1, target) = run(to)
    val batch = query1.begin(target, 0, 1)
    val slow = new ExactlyOnceWriter(batch, 0, schema)
    slow.write(row(1, "a"))
    val copy = new Thread(() => assert(write(batch, 0, row(1, "a")).get.skipped))
    @volatile var failure = Option.empty[Throwable]
    copy.setUncaughtExceptionHandler((_, e) => failure = Some(e))
    copy.start()
    Thread.sleep(300)
    slow.commit(): Unit
    slow.close()
    copy.join()
    assert(failure.isEmpty)
    assert(query(to, "SELECT count(*) FROM totals") == Seq("1"))
  }

  test("a row that the table refuses leaves neither rows nor marker") {
    val to = settings()
    val (query1, target) = run(to)
    val batch = query1.begin(target, 0, 1)
    val connection = to.connect()
    connection.createStatement().executeUpdate("CREATE UNIQUE INDEX one ON totals (\"k\")")
    connection.commit()
    connection.close()
    val refused = write(batch, 0, row(1, "a"), row(1, "b")).failed.get
    assert(refused.isInstanceOf[StorageFailure] && !JdbcErrors.isTransient(refused))
    assert(query(to, "SELECT count(*) FROM totals") == Seq("0"))
    assert(query(to, "SELECT count(*) FROM snapline_markers") == Seq("0"))
  }

  test("a batch that is written again by its number") {
    val to = settings()
    val (query1, target) = run(to)
    write(query1.begin(target, 3, 1), 0, row(1, "a")).get
    val options = SinkOptions(None, Some(2), warnsOfDifference = false)
    val batch = new SinkRun(sink, "run", options).begin(new JdbcTarget(to, schema), 2, 1)
    assert(write(batch, 0, row(1, "a")).get.skipped == false)
    assert(query(to, "SELECT count(*) FROM totals") == Seq("2"))
  }

  test("every type that is taken comes back") {
    val kinds = new StructType().add("i", IntegerType).add("l", LongType).add("d", DoubleType).add("f", FloatType)
      .add("s", ShortType).add("b", BooleanType).add("t", StringType).add("n", DecimalType(10, 2))
      .add("x", DateType).add("z", TimestampType)
    val to = settings()
    val query1 = new SinkRun(sink, "run", SinkOptions(None, None, warnsOfDifference = false))
    val batch = query1.begin(new JdbcTarget(to, kinds), 0, 1)
    val writer = new ExactlyOnceWriter(batch, 0, kinds)
    writer.write(InternalRow(1, 2L, 3.5, 4.5f, 5.toShort, true, UTF8String.fromString("t"), Decimal("6.25"), 1, 1000L))
    writer.commit(): Unit
    writer.close()
    assert(query(to, "SELECT * FROM totals") == Seq("1 2 3.5 4.5 5 true t 6.25 1970-01-02 1970-01-01 00:00:00.001"))
  }

  test("a row replaces the one before, in the words of each database") {
    def text(url: String, keys: String): String = {
      val made = JdbcSettings(new CaseInsensitiveStringMap(
        Map("url" -> url, "dbtable" -> "out", "keys" -> keys, "driver" -> "x").asJava
      ))
      WriteStatement.text(made, schema, Seq("K", "v"))
    }
    assert(text("jdbc:postgresql://h/d", "k") ==
      """INSERT INTO out ("K", "v") VALUES (?, ?) ON CONFLICT ("K") DO UPDATE SET "v" = excluded."v"""")
    assert(text("jdbc:sqlite:x", "k,v").endsWith("""ON CONFLICT ("K", "v") DO NOTHING"""))
    assert(text("jdbc:mysql://h/d", "k").endsWith("ON DUPLICATE KEY UPDATE `v` = VALUES(`v`)"))
    assert(text("jdbc:mariadb://h/d", "k").endsWith("ON DUPLICATE KEY UPDATE `v` = VALUES(`v`)"))
    assert(text("jdbc:h2:mem:x", "k") == """MERGE INTO out ("K", "v") KEY ("K") VALUES (?, ?)""")
    assertThrows[InvalidConfiguration](text("jdbc:derby:x", "k"))
    assertThrows[InvalidConfiguration](text("jdbc:sqlite:x", "other"))
  }

  test("SQLite, where tables are made, rows are appended, or replace others by a key") {
    Seq(Seq.empty, Seq("keys" -> "v")).foreach { keys =>
      val file = File.createTempFile("sink", ".db")
      val to = settings(keys :+ ("url" -> s"jdbc:sqlite:$file"): _*)
      val (query1, target) = run(to)
      val first = query1.begin(target, 0, 2)
      write(first, 0, row(1, "a"), row(2, "b")).get
      assert(write(first, 0, row(2, "b"), row(1, "a")).get.skipped)
      val second = run(to) match { case (query2, again) => query2.begin(again, 1, 2) }
      assert(second.known.markers.keySet == Set(0))
      write(second, 1, row(3, "a")).get
      val found = query(to, "SELECT * FROM totals ORDER BY 1")
      assert(found == (if (keys.isEmpty) Seq("1 a", "2 b", "3 a") else Seq("2 b", "3 a")))
      assert(query(to, "SELECT part, batch, row_count FROM snapline_markers ORDER BY 1") == Seq("0 0 2", "1 1 1"))
      file.delete()
    }
  }

  test("a null in a key is refused, for it would be one more row in each batch") {
    val file = File.createTempFile("sink", ".db")
    val to = settings("keys" -> "V", "batchsize" -> "1", "url" -> s"jdbc:sqlite:$file")
    val (query1, target) = run(to)
    val batch = query1.begin(target, 0, 2)
    val refused = write(batch, 0, row(1, "a"), row(2, null)).failed.get
    assert(refused.isInstanceOf[InvalidConfiguration] && !target.isTransient(refused))
    assert(refused.getMessage.contains("null in the column v") && refused.getMessage.contains("coalesce()"))
    assert(query(to, "SELECT count(*) FROM totals") == Seq("0"))
    assert(query(to, "SELECT count(*) FROM snapline_markers") == Seq("0"))
    // In other columns it is a value.
    write(batch, 1, InternalRow(null, UTF8String.fromString("b"))).get
    assert(query(to, "SELECT * FROM totals") == Seq("null b"))
    file.delete()
  }

  test("options that contradict each other are refused") {
    Seq(
      Seq("mode" -> "upsert"),
      Seq("mode" -> "append", "keys" -> "k"),
      Seq("mode" -> "replace"),
      Seq("dbtable" -> " ")
    ).foreach { set =>
      withClue(set)(assertThrows[InvalidConfiguration](settings(set: _*)))
    }
  }

  test("errors that may pass are told from others") {
    def of(state: String): Throwable = new StorageFailure("x", "y", new java.sql.SQLException("x", state))
    Seq("08006", "40001", "40P01", "57P01", "57014", "53300").foreach(state =>
      assert(JdbcErrors.isTransient(of(state)))
    )
    Seq("23505", "42601", "22001", null).foreach(state => assert(!JdbcErrors.isTransient(of(state))))
    assert(JdbcErrors.isTransient(new java.sql.SQLException("[SQLITE_BUSY] database is locked")))
    assert(!JdbcErrors.isTransient(new IllegalStateException("x")))
  }
}
