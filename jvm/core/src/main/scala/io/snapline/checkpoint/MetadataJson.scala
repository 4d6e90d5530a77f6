package io.snapline.checkpoint

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

import io.snapline.snapshot.format.JsonMembers._
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.MergedPlace

/** `_metadata` as JSON (docs/FORMAT.md section 9). Unknown members are ignored, missing ones are damage. */
private[checkpoint] object MetadataJson {
  private val Kind = "checkpoint"
  private val StoreName = "[A-Za-z0-9][A-Za-z0-9_.-]*"
  private val mapper = new ObjectMapper

  def bytes(metadata: CheckpointMetadata): Array[Byte] = {
    val json = mapper.createObjectNode()
    json.put("kind", Kind).put("checkpoint", metadata.checkpoint).put("properties", metadata.properties.name)
    json.put("query", metadata.query).put("run", metadata.run).put("batch", metadata.batch)
    json.put("triggered", metadata.triggeredMs).put("acknowledged", metadata.ackedMs)
    json.put("completed", metadata.completedMs).put("watermark", metadata.watermarkMs)
    json.put("maxParallelism", metadata.maxParallelism)
    json.put("writer", metadata.writer.snapline).put("spark", metadata.writer.spark)
    json.put("stateSize", metadata.stateSize).put("checkpointedSize", metadata.checkpointedSize)
    json.put("offsets", metadata.offsets).put("commit", metadata.commit)
    val operators = json.putArray("operators")
    metadata.operators.foreach(put(operators.addObject(), _))
    mapper.writeValueAsBytes(json)
  }

  private def put(json: ObjectNode, operator: OperatorMetadata): Unit = {
    json.put("id", operator.id).put("name", operator.name).put("parallelism", operator.parallelism)
    val stores = json.putArray("stores")
    operator.stores.foreach { store =>
      val partitions = stores.addObject().put("name", store.name).putArray("partitions")
      store.partitions.foreach { partition =>
        val handle = partition.handle
        val item = partitions.addObject().put("partition", partition.partition)
        item.put("version", handle.ref.version).put("uid", handle.ref.uid).put("bytes", handle.fullBytes)
        item.put("handleBytes", handle.handleBytes).put("sync", handle.syncMs).put("async", handle.asyncMs)
        if (handle.inFlightBytes > 0) item.put("inFlight", handle.inFlightBytes)
        item.putObject("uploaded").put("files", handle.uploadedFiles).put("bytes", handle.uploadedBytes)
        val files = item.putArray("files")
        handle.merged.foreach(place => item.putObject("merged").put("uid", place.uid).put("offset", place.offset))
        handle.files.foreach { file =>
          files.addObject().put("uid", file.uid).put("length", file.length).put("crc32c", file.crc32c & 0xffffffffL)
        }
      }
    }
  }

  def read(bytes: Array[Byte], file: String): CheckpointMetadata = reading(bytes, file) { json =>
    if (text(json, "kind") != Kind) throw new IllegalArgumentException(s"kind is ${text(json, "kind")}")
    val properties = text(json, "properties")
    CheckpointMetadata(
      number(json, "checkpoint"),
      CheckpointProperties.named(properties)
        .getOrElse(throw new IllegalArgumentException(s"properties is $properties")),
      text(json, "query"),
      text(json, "run"),
      number(json, "batch"),
      number(json, "triggered"),
      number(json, "acknowledged"),
      number(json, "completed"),
      items(json, "operators").map(operator),
      text(json, "offsets"),
      text(json, "commit"),
      number(json, "watermark"),
      int(json, "maxParallelism"),
      WriterVersions(text(json, "writer"), text(json, "spark"))
    )
  }

  private def operator(json: JsonNode): OperatorMetadata = OperatorMetadata(
    number(json, "id"),
    text(json, "name"),
    int(json, "parallelism"),
    items(json, "stores").map { store =>
      StoreMetadata(
        storeName(text(store, "name")),
        items(store, "partitions").map(p => PartitionMetadata(int(p, "partition"), handle(p)))
      )
    }
  )

  /** It becomes the name of a folder, in which files are deleted: one that leads out of the checkpoint is none. */
  private def storeName(name: String): String =
    if (name.matches(StoreName)) name else throw new IllegalArgumentException(s"$name is no name of a store")

  private def handle(json: JsonNode): StateHandle = {
    val uploaded = member(json, "uploaded", _.isObject)
    StateHandle(
      VersionRef(number(json, "version"), uid(json)),
      items(json, "files").map(file => SharedFile(uid(file), number(file, "length"), crc32c(file))),
      number(json, "bytes"),
      int(uploaded, "files"),
      number(uploaded, "bytes"),
      number(json, "sync"),
      number(json, "async"),
      number(json, "handleBytes"),
      Option(json.get("merged")).map(place => MergedPlace(uid(place), number(place, "offset"))),
      if (json.has("inFlight")) number(json, "inFlight") else 0
    )
  }
}
