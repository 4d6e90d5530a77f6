package io.snapline.spark.sink

/** A sink of a query: the markers of no other one are its own.
  *
  * @param query
  *   the id that Spark keeps in the query's checkpoint folder
  * @param name
  *   tells apart the sinks of the query
  */
private[sink] final case class SinkId(query: String, name: String) {
  override def toString: String = s"$query/$name"
}
