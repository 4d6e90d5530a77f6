package io.snapline.spark

/** The state formats of stream-stream joins that this line of Spark plans on a provider that is not its own: all that
  * may be asked for.
  */
object JoinFormats {
  val planned: Map[Int, Int] = Map(1 -> 1, 2 -> 2, 3 -> 3, 4 -> 4)
}
