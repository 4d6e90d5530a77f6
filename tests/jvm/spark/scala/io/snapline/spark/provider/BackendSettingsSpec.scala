package io.snapline.spark.provider

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.provider.BackendSettings._
import io.snapline.state.heap.HeapMemory

class BackendSettingsSpec extends AnyFunSuite {
  private def read(settings: (String, String)*): BackendSettings = BackendSettings.read(settings.toMap)

  test("what is not set has its default: RocksDB, files, incremental") {
    val settings = read()
    assert(settings.kind == "rocksdb" && !settings.driverMemory && settings.incremental && settings.heapLimit == 0)
    assert(settings.heap.asyncSnapshots && settings.heap.maxStateSize == 0)
  }

  test("Flink's names, and its classic ones") {
    val table = Seq(
      Seq(Type -> "hashmap") -> ("hashmap" -> false),
      Seq(Type -> "HashMap", Storage -> "jobmanager") -> ("hashmap" -> true),
      Seq(Type -> "hashmap", Storage -> " Memory ") -> ("hashmap" -> true),
      Seq(Type -> "rocksdb", Storage -> "filesystem") -> ("rocksdb" -> false),
      Seq(Type -> "MemoryStateBackend") -> ("hashmap" -> true),
      Seq(Type -> "MemoryStateBackend", Storage -> "jobmanager") -> ("hashmap" -> true),
      Seq(Type -> "FsStateBackend") -> ("hashmap" -> false),
      Seq(Type -> "rocksdbstatebackend", Storage -> "filesystem") -> ("rocksdb" -> false)
    )
    table.foreach { case (set, expected) =>
      val settings = read(set: _*)
      assert((settings.kind -> settings.driverMemory) == expected, set)
    }
  }

  test("figures and flags") {
    val memory = Type -> "MemoryStateBackend"
    assert(read(memory).heap.maxStateSize == (5L << 20))
    assert(read(memory, MaxStateSize -> "100k").heap.maxStateSize == (100L << 10))
    assert(read(Type -> "hashmap", MaxStateSize -> "100k").heap.maxStateSize == 0)
    assert(read(HeapMemory.Setting -> "2g").heapLimit == (2L << 30))
    assert(!read(AsyncSnapshots -> "False").heap.asyncSnapshots && !read(Incremental -> "false").incremental)
  }

  test("what contradicts or is no value is refused by name") {
    val wrong = Seq(
      Seq(Type -> "heap") -> Type,
      Seq(Storage -> "s3") -> Storage,
      Seq(Type -> "FsStateBackend", Storage -> "memory") -> Storage,
      Seq(Type -> "MemoryStateBackend", Storage -> "filesystem") -> Storage,
      Seq(Type -> "rocksdb", Storage -> "memory") -> Type,
      Seq(Storage -> "jobmanager") -> Type,
      Seq(Type -> "MemoryStateBackend", MaxStateSize -> "0") -> MaxStateSize,
      Seq(Type -> "MemoryStateBackend", MaxStateSize -> "2g") -> MaxStateSize,
      Seq(HeapMemory.Setting -> "100k") -> HeapMemory.Setting,
      Seq(AsyncSnapshots -> "yes") -> AsyncSnapshots,
      Seq(Incremental -> "1") -> Incremental
    )
    wrong.foreach { case (set, named) =>
      val error = intercept[InvalidConfiguration](read(set: _*))
      assert(error.getMessage.contains(named), set)
    }
  }
}
