package org.apache.spark.sql.execution.streaming.state
package snapline

/** The interface of a store with all calls that any line of Spark has. On this line Spark's own has them, and operators
  * declare the states of a store that they only read as of any other, by `createColFamilyIfAbsent`.
  */
trait StoreBase extends StateStore
