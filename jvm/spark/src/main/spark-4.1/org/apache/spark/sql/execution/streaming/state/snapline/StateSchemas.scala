package org.apache.spark.sql.execution.streaming.state
package snapline

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The files in which Spark keeps the schemas of states. */
object StateSchemas {

  /** The schemas of a store's states, file by file, the newest last; of the store's own file if there are no others.
    * Spark deletes none of the files, for it reads them all itself.
    */
  def read(store: StateStoreId, files: Seq[Path], configuration: Configuration): Seq[Seq[StateStoreColFamilySchema]] = {
    val each: Seq[List[Path]] = if (files.isEmpty) Seq(Nil) else files.map(List(_))
    each.map { file =>
      new StateSchemaCompatibilityChecker(
        StateStoreProviderId(store, UUID.randomUUID()),
        configuration,
        oldSchemaFilePaths = file
      ).readSchemaFile()
    }
  }
}
