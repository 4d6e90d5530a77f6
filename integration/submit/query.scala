// A session window over a rate source, with no Python anywhere: run by spark-shell with nothing but the jar and two settings.
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger

val folder = sys.env("SNAPLINE_TEST_FOLDER")
val provider = spark.conf.get("spark.sql.streaming.stateStore.providerClass")
println(s"provider in force: $provider")

def run(rows: Int): Long = {
  val query = spark.readStream.schema("key long, time timestamp").parquet(s"$folder/in")
    .withWatermark("time", "1 minute")
    .groupBy(session_window(col("time"), "5 seconds"), col("key")).count()
    .writeStream.outputMode("append").format("parquet")
    .option("checkpointLocation", s"$folder/checkpoint").option("path", s"$folder/out")
    .trigger(Trigger.AvailableNow()).start()
  query.awaitTermination()
  query.lastProgress.stateOperators.head.customMetrics.get("snaplineChangelogBytes")
}

for (part <- 0 until 3) {
  spark.range(part * 1000L, part * 1000L + 1000).select((col("id") % 10).as("key"), timestamp_seconds(col("id") + 1700000000L).as("time"))
    .coalesce(1).write.mode("append").parquet(s"$folder/in")
  val bytes = run(1000)
  println(s"changelog bytes: $bytes")
}
println(s"rows: ${spark.read.parquet(s"$folder/out").agg(sum("count")).first()}")
System.exit(0)
