package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.error.IncompatibleState

import org.apache.spark.sql.execution.datasources.v2.state.metadata.StateMetadataPartitionReader
import org.apache.spark.util.SerializableConfiguration

/** The files that Spark wrote about the stateful operators of a checkpoint. */
object OperatorFiles {

  /** As of a batch, in order of their numbers; empty if the query has no state. */
  def read(checkpoint: Path, configuration: Configuration, batch: Long): Seq[OperatorStateMetadata] =
    new StateMetadataPartitionReader(checkpoint.toString, new SerializableConfiguration(configuration), batch)
      .allOperatorStateMetadata.toSeq

  /** The stores of an operator. */
  def stores(metadata: OperatorStateMetadata): Seq[StateStoreMetadata] = metadata match {
    case v1: OperatorStateMetadataV1 => v1.stateStoreInfo.toSeq
    case v2: OperatorStateMetadataV2 => v2.stateStoreInfo.toSeq
    case other => throw new IncompatibleState(
        s"Operator ${other.operatorInfo.operatorId} has metadata in format ${other.version}.",
        "use the Snapline that was made for the Spark that wrote it."
      )
  }
}
