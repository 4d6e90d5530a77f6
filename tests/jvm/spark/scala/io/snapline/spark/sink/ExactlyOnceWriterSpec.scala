package io.snapline.spark.sink

import scala.util.{Failure, Random, Success, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{FunctionNotDeterministic, IncompatibleState}

class ExactlyOnceWriterSpec extends AnyFunSuite {
  private val schema = new StructType().add("v", LongType)
  private val sink = SinkId("query", "memory")

  private def batch(
      target: MemorySink,
      number: Long,
      partitions: Int = 2,
      warns: Boolean = false,
      known: Map[Int, Marker] = Map.empty
  ): SinkBatch = SinkBatch(target, sink, "run", number, partitions, KnownMarkers(known, Map.empty), warns)

  /** One attempt of a task. */
  private def attempt(batch: SinkBatch, partition: Int, values: Seq[Long]): Try[Written] = {
    val writer = new ExactlyOnceWriter(batch, partition, schema)
    val ended = Try {
      values.foreach(value => writer.write(InternalRow(value)))
      writer.commit().asInstanceOf[Written]
    }
    if (ended.isFailure) writer.abort()
    writer.close()
    ended
  }

  private def valuesOf(number: Long, partition: Int): Seq[Long] = {
    val chance = new Random(number * 31 + partition)
    Seq.fill(chance.nextInt(6))(chance.nextInt(100).toLong)
  }

  for (keeps <- Seq(true, false)) test(s"random failures at every step, rows kept: $keeps: each row is there once") {
    (1 to 200).foreach { seed =>
      val chance = new Random(seed)
      val often = chance.nextDouble() / 3
      val target = new MemorySink(keeps, _ => chance.nextDouble() < often)
      for (number <- 0L until 6L; partition <- chance.shuffle((0 until 3).toList)) {
        val values = valuesOf(number, partition)
        // Tasks are tried until one ends; some that ended are run again, as if nobody had heard of it.
        val tries = Iterator.continually(attempt(batch(target, number, 3), partition, chance.shuffle(values)))
        assert(tries.take(2000).exists(_.isSuccess), s"seed $seed")
        if (chance.nextBoolean()) attempt(batch(target, number, 3), partition, values): Unit
      }
      val expected = for (number <- 0L until 6L; partition <- 0 until 3; value <- valuesOf(number, partition))
        yield (number, partition, value)
      assert(target.rows.sorted == expected.sorted, s"seed $seed")
    }
  }

  test("a slow attempt whose copy was faster writes nothing") {
    val target = new MemorySink(keepsRows = false, _ => false)
    val slow = new ExactlyOnceWriter(batch(target, 0), 0, schema)
    slow.write(InternalRow(7L))
    assert(attempt(batch(target, 0), 0, Seq(7)).get.skipped == false)
    assertThrows[IllegalStateException](slow.commit())
    assert(target.rows == Seq((0L, 0, 7L)))
  }

  test("a lost answer to a commit is looked up, and the rows are not written again") {
    var lose = true
    val target = new MemorySink(keepsRows = true, step => { val now = lose && step == "answer"; lose &&= !now; now })
    val written = attempt(batch(target, 0), 0, Seq(1, 2)).get
    assert(written.skipped && target.rows.map(_._3) == Seq(1, 2))
  }

  test("without the rows a lost connection before the commit ends the attempt") {
    var lose = true
    val target = new MemorySink(keepsRows = false, step => { val now = lose && step == "commit"; lose &&= !now; now })
    assert(attempt(batch(target, 0), 0, Seq(1, 2)).isFailure)
    assert(target.rows.isEmpty)
    assert(attempt(batch(target, 0), 0, Seq(1, 2)).isSuccess)
    assert(target.rows.size == 2)
  }

  test("other rows than the sink has fail, or are warned of and stay away") {
    val target = new MemorySink(keepsRows = false, _ => false)
    attempt(batch(target, 0), 0, Seq(1, 2)).get
    Seq(Seq(1L, 3L), Seq(1L), Seq(1L, 2L, 2L)).foreach { others =>
      attempt(batch(target, 0), 0, others) match {
        case Failure(e: FunctionNotDeterministic) => assert(e.found.contains("2 rows"))
        case other => fail(other.toString)
      }
      assert(attempt(batch(target, 0, warns = true), 0, others).isSuccess)
    }
    assert(attempt(batch(target, 0), 0, Seq(2, 1)) == Success(
      Written(0, Some(target.markers(0)), None, skipped = true)
    ))
    assert(target.rows.map(_._3) == Seq(1, 2))
  }

  test("no rows where the sink has some are other rows too") {
    val target = new MemorySink(keepsRows = false, _ => false)
    attempt(batch(target, 0), 0, Seq(1)).get
    assert(attempt(
      batch(target, 0, known = target.markers.toMap),
      0,
      Nil
    ).failed.get.isInstanceOf[FunctionNotDeterministic])
  }

  test("a partition without rows touches nothing") {
    val target = new MemorySink(keepsRows = false, _ => true)
    assert(attempt(batch(target, 0), 0, Nil) == Success(Written(0, None, None, skipped = false)))
  }

  test("a task of a batch before the sink's newest is one of another query") {
    val target = new MemorySink(keepsRows = false, _ => false)
    attempt(batch(target, 5), 0, Seq(1)).get
    assert(attempt(batch(target, 4), 0, Seq(1)).failed.get.isInstanceOf[IncompatibleState])
  }
}
