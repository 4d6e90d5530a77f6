package io.snapline.checkpoint

import io.snapline.snapshot.format.{Frame, FrameReader, FrameWriter}
import io.snapline.storage.CheckpointStorage

/** One partition's snapshot of a store. */
final case class PartitionMetadata(partition: Int, handle: StateHandle)

/** A store of an operator, in all partitions. */
final case class StoreMetadata(name: String, partitions: Seq[PartitionMetadata])

/** A stateful operator.
  *
  * @param name
  *   for people: what Spark calls it
  * @param parallelism
  *   its partitions: 0 until this, each once in every store
  */
final case class OperatorMetadata(id: Long, name: String, parallelism: Int, stores: Seq[StoreMetadata])

/** Who wrote a checkpoint. */
final case class WriterVersions(snapline: String, spark: String)

/** Content of `_metadata` (docs/FORMAT.md section 9). Its existence makes the checkpoint exist, so it is written last.
  *
  * @param batch
  *   the last micro-batch whose effects the state holds
  * @param offsets
  *   the entry of Spark's offset log for that batch, as it stands there
  * @param commit
  *   that of the commit log
  * @param watermarkMs
  *   0: none
  */
final case class CheckpointMetadata(
    checkpoint: Long,
    properties: CheckpointProperties,
    query: String,
    run: String,
    batch: Long,
    triggeredMs: Long,
    ackedMs: Long,
    completedMs: Long,
    operators: Seq[OperatorMetadata],
    offsets: String,
    commit: String,
    watermarkMs: Long,
    maxParallelism: Int,
    writer: WriterVersions
) {
  def handles: Map[StoreId, StateHandle] = (for {
    operator <- operators
    store <- operator.stores
    partition <- store.partitions
  } yield StoreId(operator.id, partition.partition, store.name) -> partition.handle).toMap

  def stateSize: Long = handles.values.map(_.fullBytes).sum
  def checkpointedSize: Long = handles.values.map(_.incrementalBytes).sum

  /** The checkpoint as the coordinator takes it, when a start finds it. */
  def completed(metadataBytes: Long): CompletedCheckpoint =
    CompletedCheckpoint(
      checkpoint,
      run,
      batch,
      properties,
      handles,
      triggeredMs,
      ackedMs,
      completedMs,
      metadataBytes
    )

  /** Writes it under its name, and returns its length. The checkpoint exists when this returns; when it throws it may
    * exist all the same.
    *
    * @param storage
    *   the folder `snapline` of the query
    */
  def write(storage: CheckpointStorage): Long = {
    val bytes = MetadataJson.bytes(this)
    // A reader without merged files would miss the handles, and take the checkpoint for damaged.
    val format =
      if (handles.values.exists(_.merged.isDefined)) Frame.MergedFormatNumber else Frame.FormatNumber
    val frame =
      new FrameWriter(storage.create(CheckpointMetadata.name(checkpoint)), Frame.MetadataMagic, false, format)
    try frame.finish(bytes)
    catch { case e: Throwable => frame.abandon(); throw e }
    frame.bytesWritten
  }
}

object CheckpointMetadata {
  private val Folder = """chk-(\d{1,18})""".r

  def folder(checkpoint: Long): String = s"chk-$checkpoint"
  def name(checkpoint: Long): String = s"${folder(checkpoint)}/_metadata"

  /** The number of a checkpoint's folder. */
  def number(folder: String): Option[Long] = folder match {
    case Folder(id) => Some(id.toLong)
    case _ => None
  }

  /** The metadata of a pending checkpoint that is complete. Operators and their parallelism are those of its handles.
    *
    * @param names
    *   names of the operators, by their ids
    */
  def of(
      query: String,
      p: PendingCheckpoint,
      names: Map[Long, String],
      completedMs: Long,
      offsets: String,
      commit: String,
      watermarkMs: Long,
      maxParallelism: Int,
      writer: WriterVersions
  ): CheckpointMetadata = {
    val operators = p.handles.groupBy(_._1.operator).toSeq.sortBy(_._1).map { case (id, stores) =>
      val byName = stores.groupBy(_._1.store).toSeq.sortBy(_._1).map { case (name, partitions) =>
        StoreMetadata(
          name,
          partitions.toSeq.sortBy(_._1.partition).map { case (store, handle) =>
            PartitionMetadata(store.partition, handle)
          }
        )
      }
      OperatorMetadata(id, names.getOrElse(id, ""), stores.keys.map(_.partition).max + 1, byName)
    }
    CheckpointMetadata(
      p.id,
      p.properties,
      query,
      p.run,
      p.batch,
      p.triggeredMs,
      p.latestAckMs.getOrElse(p.triggeredMs),
      completedMs,
      operators,
      offsets,
      commit,
      watermarkMs,
      maxParallelism,
      writer
    )
  }

  /** The checkpoint and the length of its metadata. A file that is not there is a `StateNotFound`, one that fails a
    * check `CheckpointDamaged`.
    */
  def read(storage: CheckpointStorage, checkpoint: Long): (CheckpointMetadata, Long) = {
    val file = s"${storage.location}/${name(checkpoint)}"
    val reader = new FrameReader(storage, name(checkpoint), Frame.MetadataMagic)
    try {
      reader.foreachBlock((_, _) => ())
      val metadata = MetadataJson.read(reader.meta, file)
      // A folder copied under another number is another checkpoint.
      if (metadata.checkpoint != checkpoint) throw Frame.damaged(file, s"it holds checkpoint ${metadata.checkpoint}")
      validate(metadata, file)
      (metadata, reader.length)
    } finally reader.close()
  }

  /** Checks that its members fit together: anybody may have written it. */
  private def validate(metadata: CheckpointMetadata, file: String): Unit = {
    def damaged(what: String) = throw Frame.damaged(file, what)
    metadata.operators.groupBy(_.id).find(_._2.size > 1).foreach { case (id, _) =>
      damaged(s"it has operator $id twice")
    }
    metadata.operators.foreach { operator =>
      if (operator.stores.isEmpty) damaged(s"operator ${operator.id} has no store")
      if (operator.stores.map(_.name).distinct.size < operator.stores.size) {
        damaged(s"operator ${operator.id} has a store twice")
      }
      operator.stores.foreach { store =>
        if (store.partitions.map(_.partition).sorted != (0 until operator.parallelism)) {
          damaged(
            s"operator ${operator.id} has parallelism ${operator.parallelism}, but its store ${store.name} has " +
              s"${store.partitions.size} partitions or others"
          )
        }
        store.partitions.find(_.handle.ref.version <= metadata.batch).foreach { partition =>
          damaged(s"partition ${partition.partition} of ${store.name} has a version before batch ${metadata.batch}")
        }
      }
    }
  }
}
