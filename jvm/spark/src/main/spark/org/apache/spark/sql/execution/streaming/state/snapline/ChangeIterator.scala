package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.util.NextIterator

/** The rows of a change feed: (kind of change, key, value or null, batch id). The base class is private to Spark. */
abstract class ChangeIterator extends NextIterator[(RecordType.Value, UnsafeRow, UnsafeRow, Long)]
