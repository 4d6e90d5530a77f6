package io.snapline.spark.protocol

import java.io.IOException

import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{SnaplineException, StateNotFound, StorageFailure}
import io.snapline.snapshot.store.{StoreModelOn, TestBackend}
import io.snapline.spark.coordinator.DriverMemory
import io.snapline.storage.CheckpointStorage

/** Files in the driver's memory, over a channel on which answers are lost and messages come twice. */
class DriverMemoryStorageSpec extends AnyFunSuite {
  import DriverMemoryStorageSpec._

  private def write(storage: CheckpointStorage, name: String, bytes: Array[Byte], step: Int = 7777): Unit = {
    val output = storage.create(name)
    bytes.grouped(step).foreach(part => output.write(part, 0, part.length))
    output.close()
  }

  private def read(storage: CheckpointStorage, name: String): Seq[Byte] = {
    val input = storage.open(name)
    try {
      val bytes = new Array[Byte](input.length.toInt)
      input.readFully(0, bytes, 0, bytes.length)
      bytes.toSeq
    } finally input.close()
  }

  private def withMemory(body: (CheckpointStorage, DriverMemory) => Unit): Unit = {
    val memory = new DriverMemory(() => 42)
    body(new DriverMemoryStorage("hdfs://a/state/0/1", twice(memory)), memory)
  }

  test("a file of any length is read as it was written, whole or in part") {
    withMemory { (storage, memory) =>
      val random = new Random(1)
      Seq(0, 1, 100, DriverMemoryStorage.ChunkBytes, DriverMemoryStorage.ChunkBytes + 1, 3500000).foreach { length =>
        val bytes = random.nextBytes(length)
        write(storage, s"f$length", bytes)
        assert(read(storage, s"f$length") == bytes.toSeq)
        if (length > 9) {
          val part = new Array[Byte](5)
          val input = storage.open(s"f$length")
          input.readFully(length - 5L, part, 0, 5)
          assert(part.toSeq == bytes.takeRight(5).toSeq)
          intercept[SnaplineException](input.readFully(length - 4L, part, 0, 5))
        }
      }
      val output = storage.create("byte by byte")
      "abc".foreach(c => output.write(c.toInt))
      output.close()
      assert(read(storage, "byte by byte") == "abc".getBytes.toSeq)
      assert(memory.used == 3500000 + 2L * DriverMemoryStorage.ChunkBytes + 1 + 101 + 3)
    }
  }

  test("a file is seen when it is whole, once, and never another time") {
    withMemory { (storage, memory) =>
      val output = storage.create("sst/a")
      output.write(new Array[Byte](3000000), 0, 3000000)
      assert(storage.list("sst").isEmpty)
      intercept[StateNotFound](storage.open("sst/a"))
      val other = storage.create("sst/a")
      output.close()
      assert(storage.list("sst").map(f => (f.name, f.length, f.modified)) == Seq(("sst/a", 3000000L, 42L)))
      other.write(1)
      intercept[StorageFailure](other.close())
      other.abandon()
      intercept[StorageFailure](storage.create("sst/a"))
      assert(read(storage, "sst/a").size == 3000000 && memory.count == 1)
    }
  }

  test("what is abandoned or deleted takes no memory") {
    withMemory { (storage, memory) =>
      val output = storage.create("a")
      output.write(new Array[Byte](3000000), 0, 3000000)
      output.abandon()
      write(storage, "b", new Array[Byte](10))
      assert(storage.delete("b") || memory.count == 0)
      assert(!storage.delete("b") && memory.used == 0 && memory.count == 0 && storage.list("").isEmpty)
    }
  }

  test("folders are apart, and a folder lists its own files only") {
    withMemory { (storage, memory) =>
      val neighbour = new DriverMemoryStorage("hdfs://a/state/0/11", memory.answer(_))
      write(storage, "a", Array[Byte](1))
      write(storage, "sst/b", Array[Byte](1))
      write(neighbour, "a", Array[Byte](2))
      assert(storage.list("").map(_.name) == Seq("a") && storage.list("sst").map(_.name) == Seq("sst/b"))
      assert(read(neighbour, "a") == Seq[Byte](2) && storage.list("nothing").isEmpty)
    }
  }

  test("answers are made of Java's own classes") {
    def classes(answer: AnyRef): Seq[String] = answer match {
      case parts: Array[AnyRef] => parts.getClass.getComponentType.getName +: parts.toSeq.flatMap(classes)
      case other => Seq(other.getClass.getName)
    }
    val asked = scala.collection.mutable.Set.empty[Class[_]]
    val memory = new DriverMemory
    val storage = new DriverMemoryStorage(
      "x",
      { message =>
        val answer = memory.answer(message)
        asked += message.getClass
        classes(answer).foreach(name => assert(name.startsWith("java.") || name.startsWith("["), message))
        answer
      }
    )
    write(storage, "a", Array[Byte](1))
    assert(read(storage, "a") == Seq[Byte](1) && storage.list("").map(_.name) == Seq("a") && storage.delete("a"))
    val abandoned = storage.create("b")
    abandoned.write(1)
    abandoned.abandon()
    assert(asked.size == 7, "every kind of message")
  }

  test("a driver that is gone is a failure with a code") {
    val storage = new DriverMemoryStorage("x", _ => throw new StorageFailure("The driver did not answer.", "wait."))
    Seq[() => Unit](
      () => storage.create("a"): Unit,
      () => storage.open("a"): Unit,
      () => storage.list(""): Unit,
      () => storage.delete("a"): Unit
    ).foreach(act => intercept[StorageFailure](act()))
  }
}

object DriverMemoryStorageSpec {

  /** Every message comes twice, as when its first answer was lost. */
  def twice(memory: DriverMemory): DriverChannel = { message =>
    Try(memory.answer(message)).failed.foreach(e => throw new IOException(e))
    memory.answer(message)
  }
}

/** The store model on `MemoryStateBackend`. Deletes that come twice would tell their caller that there was nothing:
  * these come once.
  */
class StoreModelInDriverMemorySpec extends StoreModelOn(TestBackend.HashMap) {
  override protected def storage(files: CheckpointStorage): CheckpointStorage = {
    val memory = new DriverMemory
    new DriverMemoryStorage(files.location, memory.answer(_))
  }
}
