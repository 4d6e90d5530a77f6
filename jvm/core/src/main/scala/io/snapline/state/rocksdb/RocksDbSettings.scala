package io.snapline.state.rocksdb

import org.rocksdb.CompressionType

/** @param compression of table files: `lz4`, `zstd` or `none` */
final case class RocksDbSettings(compression: String = "lz4") {
  private[rocksdb] def compressionType: CompressionType = compression match {
    case "none" => CompressionType.NO_COMPRESSION
    case "zstd" => CompressionType.ZSTD_COMPRESSION
    case _ => CompressionType.LZ4_COMPRESSION
  }
}
