package org.apache.spark.sql.connect.snapline

import java.util.{List => JavaList}
import java.util.concurrent.CompletableFuture

import org.apache.spark.sql.DataFrame

/** A call that a companion has to do.
  *
  * @param python
  *   the client's version, as `3.11`: pickles of another one cannot be read
  * @param frames
  *   the DataFrames that it names, by their position
  * @param pickled
  *   function and arguments
  */
final class CompanionRequest(val python: String, val frames: JavaList[DataFrame], val pickled: Array[Byte]) {
  private[snapline] val answered = new CompletableFuture[String]

  /** Called by the companion, once, with JSON. */
  def answer(text: String): Unit = answered.complete(text): Unit
}
