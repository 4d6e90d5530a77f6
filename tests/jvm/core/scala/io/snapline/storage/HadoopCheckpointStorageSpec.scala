package io.snapline.storage

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{StateNotFound, StorageFailure}
import io.snapline.state.LocalFolder

class HadoopCheckpointStorageSpec extends AnyFunSuite {

  private def withFolder(body: (File, CheckpointStorage) => Unit): Unit = {
    val root = Files.createTempDirectory("snapline-storage").toFile
    val folder = new File(root, "a b/state/0/0")
    try body(folder, new HadoopCheckpointStorage(new Path(folder.toURI), new Configuration))
    finally LocalFolder.delete(root)
  }

  private def write(storage: CheckpointStorage, name: String, bytes: Array[Byte]): Unit = {
    val output = storage.create(name)
    output.write(bytes, 0, bytes.length / 2)
    bytes.drop(bytes.length / 2).foreach(b => output.write(b.toInt))
    output.close()
  }

  private def read(storage: CheckpointStorage, name: String): Vector[Byte] = {
    val input = storage.open(name)
    try {
      val bytes = new Array[Byte](input.length.toInt)
      input.readFully(0, bytes, 0, bytes.length)
      bytes.toVector
    } finally input.close()
  }

  test("what is written is read, listed and deleted; nothing else is made beside it") {
    withFolder { (folder, storage) =>
      val bytes = Array.tabulate[Byte](10000)(_.toByte)
      write(storage, "a", bytes)
      write(storage, "sst/b", Array.emptyByteArray)
      assert(read(storage, "a") == bytes.toVector && read(storage, "sst/b").isEmpty)
      assert(storage.list("").map(f => f.name -> f.length) == Seq("a" -> 10000L))
      assert(storage.list("sst").map(f => f.name -> f.length) == Seq("sst/b" -> 0L))
      assert(storage.list("").head.modified > System.currentTimeMillis() - 100000)
      assert(folder.list().toSet == Set("a", "sst"), "no checksum files of Hadoop's")
      assert(storage.delete("a") && !storage.delete("a"))
      assert(storage.list("").isEmpty)
    }
  }

  test("a local disk that is full is a failure like any other, and half a file goes") {
    withFolder { (folder, _) =>
      val configuration = new Configuration
      FullDiskFileSystem.in(configuration)
      val storage = new HadoopCheckpointStorage(new Path(folder.toURI), configuration)
      Seq(10, 100000).foreach { size =>
        val output = storage.create(s"$size")
        val e = intercept[StorageFailure] {
          output.write(new Array[Byte](size))
          output.close()
        }
        assert(e.getMessage.contains("No space left on device"))
        output.abandon()
        assert(!new File(folder, s"$size").exists)
      }
    }
  }

  test("a local file has the permissions that Hadoop's umask leaves it") {
    withFolder { (folder, _) =>
      Seq("022" -> "rw-r--r--", "077" -> "rw-------").foreach { case (umask, expected) =>
        val configuration = new Configuration
        configuration.set("fs.permissions.umask-mode", umask)
        write(new HadoopCheckpointStorage(new Path(folder.toURI), configuration), umask, Array[Byte](1, 2))
        val found = Files.getPosixFilePermissions(new File(folder, umask).toPath)
        assert(PosixFilePermissions.toString(found) == expected)
      }
    }
  }

  test("a file is read at any position, and its end is an error") {
    withFolder { (_, storage) =>
      write(storage, "a", Array.tabulate[Byte](100)(_.toByte))
      val input = storage.open("a")
      val bytes = new Array[Byte](12)
      input.readFully(90, bytes, 1, 10)
      input.readFully(3, bytes, 0, 1)
      assert(bytes.toSeq == Seq[Byte](3, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 0))
      intercept[StorageFailure](input.readFully(95, bytes, 0, 6))
      intercept[StorageFailure](input.readFully(200, bytes, 0, 1))
      input.close()
    }
  }

  test("a name that exists is refused and left as it is") {
    withFolder { (_, storage) =>
      write(storage, "a", Array[Byte](1))
      val error = intercept[StorageFailure](storage.create("a"))
      assert(error.code == "SNAPLINE-STORAGE" && error.found.contains("/a"))
      assert(read(storage, "a") == Vector[Byte](1))
    }
  }

  test("a missing file is not found, a missing folder is empty") {
    withFolder { (folder, storage) =>
      intercept[StateNotFound](storage.open("a"))
      assert(storage.list("").isEmpty && storage.list("sst").isEmpty && !storage.delete("a"))
      assert(!folder.exists())
    }
  }

  test("a file that is there and cannot be opened is not missing, and neither is one that cannot be made") {
    withFolder { (folder, plain) =>
      write(plain, "there", Array[Byte](1))
      val configuration = new Configuration
      NoHandlesFileSystem.in(configuration)
      val storage = new HadoopCheckpointStorage(new Path(folder.toURI), configuration)
      Seq(intercept[StorageFailure](storage.open("there")), intercept[StorageFailure](storage.create("new"))).foreach {
        e => assert(e.code == "SNAPLINE-STORAGE" && e.found.contains("(Too many open files)"))
      }
      intercept[StateNotFound](storage.open("not-there"))
    }
  }

  test("a file that goes while it is written is a failure") {
    withFolder { (folder, storage) =>
      val output = storage.create("a")
      output.write(new Array[Byte](10))
      Files.delete(new File(folder, "a").toPath)
      intercept[StorageFailure](output.close())
    }
  }

  test("what is released stays, and takes nothing of another file away") {
    withFolder { (_, storage) =>
      val begun = storage.create("a")
      begun.write(new Array[Byte](100000))
      storage.delete("a"): Unit
      write(storage, "a", Array[Byte](1))
      begun.release()
      begun.release()
      assert(read(storage, "a") == Vector[Byte](1))
    }
  }

  test("what is abandoned is gone, at any moment") {
    withFolder { (_, storage) =>
      val begun = storage.create("a")
      begun.write(new Array[Byte](100000))
      begun.abandon()
      val closed = storage.create("b")
      closed.close()
      closed.abandon()
      closed.abandon()
      assert(storage.list("").isEmpty)
    }
  }

  test("a folder that cannot be is a storage failure") {
    withFolder { (folder, storage) =>
      write(storage, "a", Array[Byte](1))
      val below = new HadoopCheckpointStorage(new Path(new File(folder, "a/below").toURI), new Configuration)
      intercept[StorageFailure](below.create("x"))
      intercept[StorageFailure](new HadoopCheckpointStorage(new Path("nosuch://host/x"), new Configuration).list(""))
      intercept[StorageFailure](new HadoopCheckpointStorage(new Path("nosuch://host/x"), new Configuration).create("y"))
    }
  }

  test("bytes that a file system loses without a word are missed when the file is closed") {
    withFolder { (_, plain) =>
      val storage = FaultyFileSystem.over(plain)
      Seq("write a", "close b").foreach { operation =>
        val name = operation.takeRight(1)
        // create, write, close
        val at = if (operation.startsWith("write")) 1 else 2
        val plan = new FaultPlan(at, Fault.Silent)
        FaultyFileSystem.run(plan) {
          val output = storage.create(name)
          val error = intercept[StorageFailure] {
            output.write(new Array[Byte](5000))
            output.close()
          }
          assert(plan.hit.contains(operation) && error.found.contains("5000 bytes were written"))
          output.abandon()
        }
        assert(!plain.list("").exists(_.name == name))
      }
    }
  }

  test("every failure of the file system is a storage failure") {
    withFolder { (_, plain) =>
      val storage = FaultyFileSystem.over(plain)
      write(storage, "there", new Array[Byte](100))
      def act(): Unit = {
        storage.list("")
        read(storage, "there")
        write(storage, s"new-${System.nanoTime()}", new Array[Byte](100))
        storage.delete("there"): Unit
        write(storage, "there", new Array[Byte](100))
      }
      val all = FaultPlan.none
      FaultyFileSystem.run(all)(act())
      all.operations.indices.foreach { i =>
        val plan = new FaultPlan(i, Fault.Before)
        FaultyFileSystem.run(plan) {
          intercept[StorageFailure](act())
        }
        plain.delete("there")
        write(plain, "there", new Array[Byte](100))
      }
    }
  }
}
