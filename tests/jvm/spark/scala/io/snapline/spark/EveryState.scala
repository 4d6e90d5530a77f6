package io.snapline.spark

import java.time.Duration

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming._

/** Counts events in states of every kind, with and without an expiry, and with timers. */
class EveryState extends StatefulProcessor[(String, Int), Event, (String, Long)] {
  @transient private var value: ValueState[Long] = _
  @transient private var list: ListState[Int] = _
  @transient private var map: MapState[String, Long] = _
  @transient private var passingValue: ValueState[Long] = _
  @transient private var passingList: ListState[Int] = _
  @transient private var passingMap: MapState[String, Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    val handle = getHandle
    val hour = TTLConfig(Duration.ofHours(1))
    value = handle.getValueState("value", Encoders.scalaLong, TTLConfig.NONE)
    list = handle.getListState("list", Encoders.scalaInt, TTLConfig.NONE)
    map = handle.getMapState("map", Encoders.STRING, Encoders.scalaLong, TTLConfig.NONE)
    passingValue = handle.getValueState("passingValue", Encoders.scalaLong, hour)
    passingList = handle.getListState("passingList", Encoders.scalaInt, hour)
    passingMap = handle.getMapState("passingMap", Encoders.STRING, Encoders.scalaLong, hour)
  }

  override def handleInputRows(
      key: (String, Int),
      rows: Iterator[Event],
      timers: TimerValues
  ): Iterator[(String, Long)] = {
    rows.foreach { event =>
      val count = (if (value.exists()) value.get() else 0L) + 1
      value.update(count)
      passingValue.update(count)
      Seq(list, passingList).foreach(_.appendValue(event.number))
      Seq(map, passingMap).foreach(_.updateValue(event.time.toString, count))
    }
    getHandle.registerTimer(timers.getCurrentProcessingTimeInMs() + 3600000L)
    Iterator(s"$key" -> value.get())
  }
}
