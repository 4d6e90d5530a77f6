package io.snapline.spark.savepoint

import org.apache.spark.sql.execution.streaming.state.{KeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s.DefaultFormats
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods

/** One named state of a store.
  *
  * @param encoder
  *   Spark's own description of the key's encoder
  * @param multi
  *   whether a key has a list of values
  * @param leftOut
  *   whether the operator has only had it before, and its newest version does not declare it
  */
final case class FamilyLayout(
    name: String,
    key: StructType,
    value: StructType,
    encoder: String,
    multi: Boolean,
    placement: Placement,
    leftOut: Boolean = false
) {
  def internal: Boolean = name.startsWith("$")

  def spec: KeyStateEncoderSpec = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    KeyStateEncoderSpec.fromJson(key, JsonMethods.parse(encoder).extract[Map[String, Any]])
  }
}

/** The states of one store, in each of its partitions. */
final case class StoreLayout(name: String, families: Seq[FamilyLayout]) {

  /** Spark's operators either have column families, or the one state of that name. */
  def hasFamilies: Boolean = families.exists(_.name != StateStore.DEFAULT_COL_FAMILY_NAME)

  def family(name: String): Option[FamilyLayout] = families.find(_.name == name)

  /** The name of a state for users: Spark's operators name either the store or the family. */
  def nameOf(family: FamilyLayout): String =
    if (family.name == StateStore.DEFAULT_COL_FAMILY_NAME) name else family.name
}

/** A stateful operator: its states, and over how many partitions each store is spread.
  *
  * @param uid
  *   the name that its query gave it
  * @param schemaFiles
  *   Spark's schema files, relative to the checkpoint, where the operator keeps several
  */
final case class OperatorLayout(
    id: Long,
    name: String,
    uid: Option[String],
    parallelism: Int,
    schemaFiles: Seq[String],
    stores: Seq[StoreLayout]
) {
  def store(name: String): Option[StoreLayout] = stores.find(_.name == name)

  /** Its name in messages. */
  def title: String = s"operator $id (${uid.getOrElse(name)})"

  /** Whether it has this number, uid or name. */
  def isCalled(wanted: String): Boolean = wanted == id.toString || uid.contains(wanted) || wanted == name

  /** The names of its stores, in the order in which Spark's commit log has the ids of a partition. */
  def storesInCommits: Seq[String] = stores.map(_.name).sortBy(OperatorLayout.JoinStores.indexOf(_))
}

/** To and from JSON: in this form the layout travels to Python, and stands in a savepoint's `_metadata`. */
object OperatorLayout {
  private val JoinStores =
    for (side <- Seq("left", "right"); name <- Seq("keyToNumValues", "keyWithIndexToValue")) yield s"$side-$name"

  def toJson(operators: Seq[OperatorLayout]): String = JsonMethods.compact(JArray(operators.map(operator).toList))

  def fromJson(text: String): OperatorLayout = JsonMethods.parse(text) match {
    case json: JObject => operator(json)
    case other => throw new IllegalArgumentException(s"No operator: $other")
  }

  private def operator(o: OperatorLayout): JObject = JObject(
    "id" -> JInt(o.id),
    "name" -> JString(o.name),
    "uid" -> o.uid.fold[JValue](JNothing)(JString(_)),
    "parallelism" -> JInt(o.parallelism),
    "schemaFiles" -> JArray(o.schemaFiles.map(JString(_)).toList),
    "stores" -> JArray(o.stores.map { store =>
      JObject("name" -> JString(store.name), "states" -> JArray(store.families.map(family).toList))
    }.toList)
  )

  private def family(f: FamilyLayout): JObject = JObject(
    "name" -> JString(f.name),
    "key" -> JsonMethods.parse(f.key.json),
    "value" -> JsonMethods.parse(f.value.json),
    "encoder" -> JsonMethods.parse(f.encoder),
    "multi" -> JBool(f.multi),
    "placement" -> placement(f.placement),
    "leftOut" -> (if (f.leftOut) JBool(true) else JNothing)
  )

  private def placement(p: Placement): JObject = p match {
    case Placement.Hashed(paths) =>
      JObject(
        "kind" -> JString("hashed"),
        "paths" -> JArray(paths.map(path => JArray(path.map(JInt(_)).toList)).toList)
      )
    case Placement.First => JObject("kind" -> JString("first"))
    case Placement.Every => JObject("kind" -> JString("every"))
    case Placement.Dealt(union) => JObject("kind" -> JString(if (union) "union" else "split"))
    case Placement.Fixed(why) => JObject("kind" -> JString("fixed"), "why" -> JString(why))
  }

  private def operator(json: JObject): OperatorLayout = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    OperatorLayout(
      (json \ "id").extract[Long],
      (json \ "name").extract[String],
      (json \ "uid").extract[Option[String]],
      (json \ "parallelism").extract[Int],
      (json \ "schemaFiles").extract[List[String]],
      (json \ "stores").children.map { store =>
        StoreLayout((store \ "name").extract[String], (store \ "states").children.map(family))
      }
    )
  }

  private def family(json: JValue): FamilyLayout = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    def schema(member: String): StructType =
      DataType.fromJson(JsonMethods.compact(json \ member)).asInstanceOf[StructType]
    FamilyLayout(
      (json \ "name").extract[String],
      schema("key"),
      schema("value"),
      JsonMethods.compact(json \ "encoder"),
      (json \ "multi").extract[Boolean],
      placement(json \ "placement"),
      json \ "leftOut" == JBool(true)
    )
  }

  private def placement(json: JValue): Placement = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    (json \ "kind").extract[String] match {
      case "hashed" => Placement.Hashed((json \ "paths").extract[List[List[Int]]])
      case "first" => Placement.First
      case "every" => Placement.Every
      case "split" => Placement.Dealt(union = false)
      case "union" => Placement.Dealt(union = true)
      case _ => Placement.Fixed((json \ "why").extract[String])
    }
  }
}
