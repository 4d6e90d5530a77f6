package io.snapline.spark

import org.apache.spark.sql.streaming.GroupState

/** Functions for (flat)mapGroupsWithState that count. */
object CountGroups {

  val flat: ((String, Int), Iterator[Event], GroupState[Long]) => Iterator[(String, Long)] = (key, events, state) =>
    if (state.hasTimedOut) {
      state.remove()
      Iterator.empty
    } else {
      state.update(state.getOption.getOrElse(0L) + events.size)
      state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 3600000L)
      Iterator(s"$key" -> state.get)
    }

  def one(key: Int, events: Iterator[Event], state: GroupState[Long]): (Int, Long) = {
    state.update(state.getOption.getOrElse(0L) + events.size)
    key -> state.get
  }
}
