package io.snapline.spark.savepoint

import org.json4s.DefaultFormats
import org.json4s.JsonAST.JValue

import io.snapline.checkpoint.StoreId

/** Which version of which store is meant, where several attempts may have made it.
  *
  * @param uid
  *   None: the latest
  */
private[savepoint] final case class StoreVersion(id: StoreId, version: Long, uid: Option[String])

private[savepoint] object StoreVersion {

  /** @param json
    *   an array, as Python has it
    */
  def read(json: JValue): Seq[StoreVersion] = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    json.children.map { item =>
      val id =
        StoreId((item \ "operator").extract[Long], (item \ "partition").extract[Int], (item \ "store").extract[String])
      StoreVersion(id, (item \ "version").extract[Long], (item \ "uid").extract[Option[String]])
    }
  }
}
