package io.snapline.spark.operator.channel

import org.apache.spark.sql.types.StructType

/** What rows that wait are made of.
  *
  * @param key
  *   where the key's columns stand, which say the partition of a row; None: nobody needs to know
  */
private[spark] final case class RowSchema(columns: StructType, key: Option[Seq[Int]])
