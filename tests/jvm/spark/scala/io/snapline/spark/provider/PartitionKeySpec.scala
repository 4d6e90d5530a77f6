package io.snapline.spark.provider

import java.nio.file.Files

import org.apache.spark.sql.SparkSession
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.WholeOnly
import io.snapline.keygroup.{KeyGroups, PartitionGroups}
import io.snapline.spark.{LocalSpark, StatefulQuery}
import io.snapline.state.LocalFolder

/** Every key that a running query stores has a key group which Spark's shuffle sends to the partition it is stored in.
  */
class PartitionKeySpec extends AnyFunSuite with WholeOnly with BeforeAndAfterAll {
  private var spark: SparkSession = _

  override def beforeAll(): Unit = spark = LocalSpark.start(LocalSpark.provider, LocalSpark.extension)

  override def afterAll(): Unit = LocalSpark.stop(spark)

  /** States without key groups: those whose keys keep their order over the partition, and that of a query without a
    * key.
    */
  private val ordered: Map[String, Set[String]] = Map(
    "aggregation without a key" -> Set("default"),
    "inner join, state format 4" -> Set("left-tsWithKey", "right-tsWithKey"),
    "transformWithState" ->
      Set("$procTimers_timestampToKey", "$ttl_passingValue", "$ttl_passingList", "$ttl_passingMap")
  ).withDefaultValue(Set.empty)

  for (query <- StatefulQuery.all :+ StatefulQuery.transform)
    test(query.name) {
      val checkpoint = Files.createTempDirectory("checkpoint").toFile
      try {
        query.run(spark, checkpoint.getPath, StatefulQuery.batches(2)): Unit
        val stored = StoredKeys.of(checkpoint)
        assert(stored.filterNot(_.family.keyGroups).map(_.family.name).toSet == ordered(query.name))
        stored.groupBy(_.operator).foreach { case (operator, states) =>
          val partitions = states.map(_.partition).distinct.size
          assert(partitions == 1 || partitions == LocalSpark.Partitions)
          assert(states.map(_.keys.size).sum > 0, s"operator $operator holds nothing")
          for (state <- states if state.family.keyGroups) {
            val groups = PartitionGroups(state.partition, partitions, KeyGroups.DefaultMaxParallelism)
            val strays = state.keys.map(KeyGroups.read(_, 0)).filterNot(groups.contains)
            assert(strays.isEmpty, s"${state.family.name} ${state.store}, partition ${state.partition} of $partitions")
          }
        }
      } finally LocalFolder.delete(checkpoint)
    }
}
