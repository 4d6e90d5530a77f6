package io.snapline.spark.sink

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

class IdlePoolSpec extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(20, Millis))

  private final class Connection extends AutoCloseable {
    @volatile var isClosed = false
    override def close(): Unit = isClosed = true
  }

  test("a connection has one owner at a time") {
    val pool = new IdlePool[String, Connection]("test", idleMillis = 60000)
    val (first, second) = (new Connection, new Connection)
    assert(pool.take("a").isEmpty)
    pool.give("a", first)
    pool.give("a", second)
    assert(pool.take("b").isEmpty)
    assert(pool.take("a").contains(second) && pool.take("a").contains(first) && pool.take("a").isEmpty)
  }

  test("one that stays idle is closed, and one that is in use is not") {
    val pool = new IdlePool[String, Connection]("test", idleMillis = 50)
    val (idle, used) = (new Connection, new Connection)
    pool.give("a", used)
    assert(pool.take("a").contains(used))
    pool.give("a", idle)
    eventually(assert(idle.isClosed))
    assert(pool.take("a").isEmpty && !used.isClosed)
  }
}
