package io.snapline.snapshot.format

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

import io.snapline.snapshot.format.JsonMembers._
import io.snapline.state.FamilyDescriptor

/** A family and how many keys it holds. */
final case class FamilyState(descriptor: FamilyDescriptor, keys: Long)

/** The members that the metas of both kinds of file have in common.
  *
  * @param run
  *   the query's run id
  * @param properties
  *   properties that a load compares with the store's own
  */
final case class Origin(writer: String, run: String, properties: Map[String, String])

/** Meta of a changelog (docs/FORMAT.md section 3). */
final case class ChangelogMeta(
    ref: VersionRef,
    parent: Option[VersionRef],
    snapshot: Option[VersionRef],
    families: Seq[FamilyState],
    entries: Long,
    rawBytes: Long,
    snapshotDistance: Int,
    changelogBytes: Long,
    created: Long,
    origin: Origin
)

/** A table file in storage, and the name the backend knows it by. */
final case class TableFile(name: String, uid: String, length: Long, crc32c: Int) {
  def storedName: String = s"${TableFile.Folder}/$uid.sst"
}

object TableFile {
  val Folder = "sst"
}

/** Meta of a handle (docs/FORMAT.md section 4). */
final case class HandleMeta(
    ref: VersionRef,
    families: Seq[FamilyState],
    backend: String,
    files: Seq[TableFile],
    local: Seq[(String, Int)],
    uploadedFiles: Int,
    uploadedBytes: Long,
    created: Long,
    origin: Origin
) {
  def stateBytes: Long = files.map(_.length).sum
}

/** Metas as JSON. Unknown members are ignored, missing ones are damage. */
private[snapshot] object Meta {
  private val mapper = new ObjectMapper

  def bytes(meta: ChangelogMeta): Array[Byte] = {
    val json = start("changelog", meta.ref, meta.families, meta.created, meta.origin)
    refer(json, "parent", meta.parent)
    refer(json, "snapshot", meta.snapshot)
    json.put("entries", meta.entries).put("rawBytes", meta.rawBytes)
    json.put("snapshotDistance", meta.snapshotDistance).put("changelogBytes", meta.changelogBytes)
    mapper.writeValueAsBytes(json)
  }

  def bytes(meta: HandleMeta): Array[Byte] = {
    val json = start("handle", meta.ref, meta.families, meta.created, meta.origin)
    json.put("backend", meta.backend).put("stateBytes", meta.stateBytes)
    val files = json.putArray("files")
    meta.files.foreach { file =>
      files.addObject().put(
        "name",
        file.name
      ).put("uid", file.uid).put("length", file.length).put("crc32c", file.crc32c & 0xffffffffL)
    }
    val local = json.putArray("local")
    meta.local.foreach { case (name, length) => local.addObject().put("name", name).put("length", length) }
    json.putObject("uploaded").put("files", meta.uploadedFiles).put("bytes", meta.uploadedBytes)
    mapper.writeValueAsBytes(json)
  }

  def changelog(bytes: Array[Byte], file: String): ChangelogMeta = reading(bytes, file) { json =>
    ChangelogMeta(
      ref(json),
      optionalRef(json, "parent"),
      optionalRef(json, "snapshot"),
      families(json),
      number(json, "entries"),
      number(json, "rawBytes"),
      int(json, "snapshotDistance"),
      number(json, "changelogBytes"),
      number(json, "created"),
      origin(json)
    )
  }

  def handle(bytes: Array[Byte], file: String): HandleMeta = reading(bytes, file) { json =>
    val uploaded = member(json, "uploaded", _.isObject)
    HandleMeta(
      ref(json),
      families(json),
      text(json, "backend"),
      items(json, "files").map { item =>
        val name = plainName(text(item, "name"))
        TableFile(name, uid(item), number(item, "length"), crc32c(item))
      },
      items(json, "local").map(item => plainName(text(item, "name")) -> int(item, "length")),
      int(uploaded, "files"),
      number(uploaded, "bytes"),
      number(json, "created"),
      origin(json)
    )
  }

  private def start(
      kind: String,
      ref: VersionRef,
      families: Seq[FamilyState],
      created: Long,
      origin: Origin
  ): ObjectNode = {
    val json = mapper.createObjectNode()
    json.put("kind", kind).put("version", ref.version).put("uid", ref.uid)
    val array = json.putArray("families")
    families.foreach { family =>
      val d = family.descriptor
      array.addObject().put("id", d.id).put("name", d.name).put("keys", family.keys)
        .put("keyGroups", d.keyGroups).put("multi", d.multi).put("internal", d.internal)
    }
    json.put("writer", origin.writer).put("created", created).put("run", origin.run)
    val properties = json.putObject("properties")
    origin.properties.toSeq.sorted.foreach { case (name, value) => properties.put(name, value) }
    json
  }

  private def refer(json: ObjectNode, member: String, ref: Option[VersionRef]): Unit = ref match {
    case Some(VersionRef(version, uid)) => json.putObject(member).put("version", version).put("uid", uid): Unit
    case None => json.putNull(member): Unit
  }

  private def ref(json: JsonNode): VersionRef = VersionRef(number(json, "version"), uid(json))

  private def optionalRef(json: JsonNode, member: String): Option[VersionRef] =
    Option(json.get(member)).filterNot(_.isNull).map(ref)

  private def families(json: JsonNode): Seq[FamilyState] = items(json, "families").map { item =>
    val id = int(item, "id")
    if (id > FamilyDescriptor.MaxId) throw new IllegalArgumentException(s"$id is no family id")
    FamilyState(
      FamilyDescriptor(
        id,
        text(item, "name"),
        flag(item, "keyGroups"),
        flag(item, "multi"),
        flag(item, "internal")
      ),
      number(item, "keys")
    )
  }

  private def origin(json: JsonNode): Origin = Origin(
    text(json, "writer"),
    text(json, "run"),
    member(json, "properties", _.isObject).properties().asScala.map(e => e.getKey -> e.getValue.asText).toMap
  )

  /** A name that stays in the folder it is put into. */
  private def plainName(name: String): String =
    if (name.matches("[A-Za-z0-9_-]+(\\.sst)?")) name else throw new IllegalArgumentException(s"$name is no file name")
}
