package io.snapline.spark.savepoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.{
  InMemoryStateSchemaProvider, StateSchemaMetadata, StateSchemaProvider
}

/** Where Avro encoding looks up evolved schemas: what an operator's schema files say. */
private[savepoint] object StoreSchemas {

  /** @param root
    *   what the files' names are relative to
    */
  def of(
      root: String,
      operator: OperatorLayout,
      store: StoreLayout,
      configuration: Configuration
  ): Option[StateSchemaProvider] =
    if (operator.schemaFiles.isEmpty || !store.hasFamilies) None
    else {
      val files = operator.schemaFiles.map(new Path(root, _).toString).toList
      Some(new InMemoryStateSchemaProvider(StateSchemaMetadata.createStateSchemaMetadata(root, configuration, files)))
    }
}
