package io.snapline.spark.savepoint

import io.snapline.checkpoint.StoreId
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods

/** The state of a query as of one batch, in its checkpoint folder.
  *
  * @param checkpoint
  *   the numbered checkpoint; None: the state that the newest batch left
  * @param version
  *   the version of every store
  * @param offsets
  *   the batch's entry in the offset log, and `commit` that in the commit log
  * @param planned
  *   the entry of the batch after it, if that was planned and not committed
  * @param uids
  *   the attempt to read; empty: the latest
  */
private[savepoint] final case class FoundState(
    location: String,
    batch: Long,
    checkpoint: Option[Long],
    version: Long,
    offsets: String,
    commit: String,
    planned: Option[String],
    uids: Map[StoreId, String],
    operators: Seq[OperatorLayout]
) {

  /** The query's settings when it wrote the state: the second line of the offset log's entry. */
  def settings: String = offsets.split("\n")(1)

  def uidsOf(operator: Long, store: String): Map[Int, String] =
    uids.collect { case (StoreId(`operator`, partition, `store`), uid) => partition -> uid }

  /** For Python. */
  def json: String = JsonMethods.compact(JObject(
    "location" -> JString(location),
    "batch" -> JInt(batch),
    "checkpoint" -> checkpoint.fold[JValue](JNull)(JInt(_)),
    "version" -> JInt(version),
    "offsets" -> JString(offsets),
    "commit" -> JString(commit),
    "planned" -> planned.fold[JValue](JNull)(JString(_)),
    "uids" -> JArray(uids.toList.map { case (store, uid) =>
      JArray(List(JInt(store.operator), JString(store.store), JInt(store.partition), JString(uid)))
    }),
    "operators" -> JsonMethods.parse(OperatorLayout.toJson(operators))
  ))
}
