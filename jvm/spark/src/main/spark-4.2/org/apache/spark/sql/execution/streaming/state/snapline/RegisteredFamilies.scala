package org.apache.spark.sql.execution.streaming.state
package snapline

/** How operators declare the states of a store that they only read: on this line as of any other store, by
  * `createColFamilyIfAbsent`.
  */
trait RegisteredFamilies extends StateStore
