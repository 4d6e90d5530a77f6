package org.apache.spark.sql.execution.streaming.state
package snapline

/** Spark's checksums of rows, each over a key and its value. */
final class RowChecksums private (verifier: Option[KeyValueIntegrityVerifier]) {

  /** The value with its checksum. */
  def add(key: Array[Byte], value: Array[Byte]): Array[Byte] =
    KeyValueChecksumEncoder.encodeValueRowWithChecksum(value, KeyValueChecksum.create(key, Some(value)))

  /** The value without it; throws Spark's error if it does not fit, where the settings say that it is looked at. */
  def remove(key: => Array[Byte], value: Array[Byte]): Array[Byte] =
    KeyValueChecksumEncoder.decodeAndVerifyValueRowWithChecksum(verifier, key, value, StateEncoders.NoDelimiter)
}

object RowChecksums {
  def areOn(conf: StateStoreConf): Boolean = conf.rowChecksumEnabled

  /** None: rows carry no checksum. */
  def of(id: StateStoreId, conf: StateStoreConf): Option[RowChecksums] =
    if (!areOn(conf)) None
    else Some(new RowChecksums(KeyValueIntegrityVerifier.create(
      id.toString,
      conf.rowChecksumEnabled,
      conf.rowChecksumReadVerificationRatio
    )))
}
