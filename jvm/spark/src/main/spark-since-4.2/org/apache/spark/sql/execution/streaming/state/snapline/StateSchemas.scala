package org.apache.spark.sql.execution.streaming.state
package snapline

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The files in which Spark keeps the schemas of states. */
object StateSchemas {

  /** The newest schemas of a store's states; from the file that belongs to the store if there are no others. */
  def read(store: StateStoreId, files: Seq[Path], configuration: Configuration): Seq[StateStoreColFamilySchema] =
    new StateSchemaCompatibilityChecker(
      StateStoreProviderId(store, UUID.randomUUID()),
      configuration,
      oldSchemaFilePaths = files.toList,
      createSchemaDir = false
    ).readSchemaFile()
}
