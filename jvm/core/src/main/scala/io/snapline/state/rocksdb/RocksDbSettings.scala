package io.snapline.state.rocksdb

import org.rocksdb.CompressionType

/** @param compression
  *   of table files: `lz4`, `zstd` or `none`
  * @param inlineThreshold
  *   table files at most so many bytes long are written again with each snapshot: before one is made, what a family has
  *   of them becomes one
  */
final case class RocksDbSettings(compression: String = "lz4", inlineThreshold: Int = 0) {
  private[rocksdb] def compressionType: CompressionType = compression match {
    case "none" => CompressionType.NO_COMPRESSION
    case "zstd" => CompressionType.ZSTD_COMPRESSION
    case _ => CompressionType.LZ4_COMPRESSION
  }
}
