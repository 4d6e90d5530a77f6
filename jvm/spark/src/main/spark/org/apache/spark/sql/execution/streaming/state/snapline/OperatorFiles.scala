package org.apache.spark.sql.execution.streaming.state
package snapline

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.datasources.v2.state.metadata.StateMetadataPartitionReader
import org.apache.spark.util.SerializableConfiguration

/** The files that Spark wrote about the stateful operators of a checkpoint. */
object OperatorFiles {

  /** As of a batch, in order of their numbers; empty if the query has no state. */
  def read(checkpoint: Path, configuration: Configuration, batch: Long): Seq[OperatorStateMetadata] =
    new StateMetadataPartitionReader(checkpoint.toString, new SerializableConfiguration(configuration), batch)
      .allOperatorStateMetadata.toSeq

  /** The newest schemas of a store's states; from the file that belongs to the store if there are no others. */
  def schemas(store: StateStoreId, files: Seq[Path], configuration: Configuration): Seq[StateStoreColFamilySchema] =
    new StateSchemaCompatibilityChecker(
      StateStoreProviderId(store, UUID.randomUUID()),
      configuration,
      oldSchemaFilePaths = files.toList,
      createSchemaDir = false
    ).readSchemaFile()
}
