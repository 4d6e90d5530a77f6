package io.snapline.spark.sink.jdbc

import java.io.File
import java.lang.reflect.{InvocationHandler, Method, Proxy}
import java.sql.{Connection, Statement}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration

/** On Derby and SQLite; MySQL has a statement written, and is asked nothing. */
class KeyColumnsSpec extends AnyFunSuite {
  private val schema = new StructType().add("k", IntegerType).add("v", StringType).add("n", LongType)

  private def settings(url: String, keys: String, more: (String, String)*): JdbcSettings = {
    val set = Map("url" -> url, "dbtable" -> "totals", "keys" -> keys) ++ more
    JdbcSettings(new CaseInsensitiveStringMap(set.asJava))
  }

  private def withSqlite(keys: String)(body: JdbcSettings => Unit): Unit = {
    val file = File.createTempFile("keys", ".db")
    try body(settings(s"jdbc:sqlite:$file", keys))
    finally file.delete(): Unit
  }

  private def withTables[T](settings: JdbcSettings)(body: (SqlTables, Connection) => T): T = {
    val connection = settings.connect()
    try body(new SqlTables(settings, connection), connection)
    finally {
      connection.rollback()
      connection.close()
    }
  }

  test("keys are columns of the query, in whatever case, each of them once") {
    def names(keys: String): Seq[String] = KeyColumns.of(settings("jdbc:sqlite:x", keys), schema).map(_.name)
    assert(names("V,k,K") == Seq("v", "k"))
    assert(names("").isEmpty)
    val refused = intercept[InvalidConfiguration](names("k,a,b"))
    assert(refused.found.contains("names a, b,") && refused.action.contains("k, v, n"))
  }

  test("a table that the sink makes has its unique key") {
    withSqlite("V,k") { to =>
      new JdbcTarget(to, schema).prepare()
      withTables(to)((tables, _) => assert(tables.uniqueKeys("totals") == Seq(Set("k", "v"))))
    }
    withSqlite("") { to =>
      new JdbcTarget(to, schema).prepare()
      withTables(to)((tables, _) => assert(tables.uniqueKeys("totals").isEmpty))
    }
  }

  test("no table is made for keys that the query does not have, or that the database cannot replace by") {
    withSqlite("other") { to =>
      assertThrows[InvalidConfiguration](new JdbcTarget(to, schema).prepare())
      withTables(to)((tables, _) => assert(!tables.exists("totals")))
    }
    val derby = settings("jdbc:derby:memory:refused;create=true", "k")
    assertThrows[InvalidConfiguration](new JdbcTarget(derby, schema).prepare())
    withTables(derby)((tables, _) => assert(!tables.exists("totals")))
  }

  test("in MySQL, too, a table and its unique key are one statement") {
    Seq("mysql", "mariadb").foreach { kind =>
      val made = new Recording
      val to = settings(s"jdbc:$kind://h/d", "V,k", "driver" -> "org.sqlite.JDBC")
      new SqlTables(to, made.connection).create(schema)
      assert(made.texts.size == 1)
      assert(made.texts.head.startsWith("CREATE TABLE totals (") && made.texts.head.contains("`v` VARCHAR(255)"))
      assert(made.texts.head.trim.endsWith(", UNIQUE (`v`, `k`))"))
    }
  }

  test("unique keys of a table are found, in whatever words the option names it") {
    val derby = settings("jdbc:derby:memory:keys;create=true", "")
    checkKeys(derby, Seq("own", "app.Own", "\"OWN\""))
    withSqlite("")(checkKeys(_, Seq("own", "main.Own", "\"OWN\"")))
  }

  private def checkKeys(settings: JdbcSettings, names: Seq[String]): Unit =
    withTables(settings) { (tables, connection) =>
      def run(text: String): Unit = {
        val statement = connection.createStatement()
        try statement.executeUpdate(text): Unit
        finally statement.close()
      }
      def keys(name: String): Set[Set[String]] = tables.uniqueKeys(name).map(_.map(_.toLowerCase)).toSet
      run("CREATE TABLE keyless (a INT NOT NULL, b INT NOT NULL)")
      assert(keys("keyless").isEmpty)
      run("CREATE INDEX of_keyless ON keyless (a)")
      assert(keys("keyless").isEmpty)
      run("CREATE TABLE own (a INT NOT NULL, b INT NOT NULL, c INT, PRIMARY KEY (a, b))")
      run("CREATE INDEX plain ON own (b, c)")
      names.foreach(name => assert(keys(name) == Set(Set("a", "b"))))
      run("CREATE UNIQUE INDEX one_c ON own (c)")
      names.foreach(name => assert(keys(name) == Set(Set("a", "b"), Set("c"))))
    }

  test("a table without a unique key of exactly the keys is refused where the database would append") {
    val to = settings("jdbc:mysql://h/d", "k,v")
    assert(to.needsUniqueKey && settings("jdbc:mariadb://h/d", "k").needsUniqueKey)
    assert(!settings("jdbc:mysql://h/d", "").needsUniqueKey && !settings("jdbc:sqlite:x", "k").needsUniqueKey)
    KeyColumns.check(to, schema, Seq(Set("id"), Set("V", "K")))
    val refused = intercept[InvalidConfiguration](KeyColumns.check(to, schema, Seq.empty))
    assert(refused.found.contains("no unique index of (k, v)") && refused.found.contains("indexes: none"))
    assert(refused.action.contains("CREATE UNIQUE INDEX snapline_key ON totals (`k`, `v`)"))
    // With fewer columns a row changes another key's; with more, or with an expression, a row is appended.
    Seq(Set("k"), Set("k", "v", "n"), Set("k", "")).foreach { unique =>
      withClue(unique)(assertThrows[InvalidConfiguration](KeyColumns.check(to, schema, Seq(unique))))
    }
  }

  /** Takes every statement and does nothing. */
  private final class Recording extends InvocationHandler {
    val texts: mutable.Buffer[String] = mutable.Buffer.empty
    val connection: Connection = stub(classOf[Connection])

    override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = method.getName match {
      case "createStatement" => stub(classOf[Statement])
      case "executeUpdate" =>
        texts.append(arguments(0).toString): Unit
        Int.box(0)
      case _ => null
    }

    private def stub[T <: AnyRef](kind: Class[T]): T =
      kind.cast(Proxy.newProxyInstance(getClass.getClassLoader, Array[Class[_]](kind), this))
  }
}
