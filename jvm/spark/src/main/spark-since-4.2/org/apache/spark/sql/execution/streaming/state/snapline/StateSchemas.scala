package org.apache.spark.sql.execution.streaming.state
package snapline

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The files in which Spark keeps the schemas of states. */
object StateSchemas {

  /** The schemas of a store's states in one file; None: in the file that belongs to the store. */
  def read(store: StateStoreId, file: Option[Path], configuration: Configuration): Seq[StateStoreColFamilySchema] =
    new StateSchemaCompatibilityChecker(
      StateStoreProviderId(store, UUID.randomUUID()),
      configuration,
      oldSchemaFilePaths = file.toList,
      createSchemaDir = false
    ).readSchemaFile()
}
