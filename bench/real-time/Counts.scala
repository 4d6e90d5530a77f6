package io.snapline.bench

import org.apache.spark.sql.{DataFrame, Encoders, Row}
import org.apache.spark.sql.streaming._

/** How many rows a key has had, in Spark's transformWithState: `key,number` becomes `key,number,count`. */
class Counts extends StatefulProcessor[String, String, String] {
  @transient private var count: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[String] =
    rows.map { row =>
      val n = (if (count.exists()) count.get() else 0L) + 1
      count.update(n)
      s"$row,$n"
    }
}

object Counts {

  /** @param rows
    *   of columns `k` and `value`
    */
  def of(rows: DataFrame): DataFrame = {
    val grouped = rows.groupBy("k").as[String, Row](Encoders.STRING, Encoders.row(rows.schema))
    grouped
      .mapValues(_.getString(1))(Encoders.STRING)
      .transformWithState(new Counts, TimeMode.None(), OutputMode.Update())(Encoders.STRING)
      .toDF("value")
  }
}
