package io.snapline.spark.protocol

import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.error.StorageFailure
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem, HadoopCheckpointStorage}

class CheckpointFolderSpec extends AnyFunSuite {

  private def withFolder(body: (LocalPath, CheckpointFolder) => Unit): Unit = {
    val root = Files.createTempDirectory("snapline-folder")
    val own = new HadoopCheckpointStorage(new Path(root.resolve("snapline").toUri), FaultyFileSystem.configuration)
    Seq(1L, 2L, 3L).foreach { id =>
      CheckpointMetadata(
        id,
        CheckpointProperties.RetainedOnFailure,
        "query",
        "run",
        id,
        1,
        2,
        3,
        Nil,
        "v1\n{}",
        "v1\n{}",
        0,
        8,
        WriterVersions("0", "0")
      ).write(own)
    }
    body(root, new CheckpointFolder(new Path(s"${FaultyFileSystem.Scheme}:$root"), FaultyFileSystem.configuration))
  }

  test("a checkpoint whose metadata was not written to its end never existed; its number is used up") {
    withFolder { (root, folder) =>
      val last = root.resolve("snapline/chk-3/_metadata")
      Files.write(last, Files.readAllBytes(last).take(50))
      assert(folder.completed().map(_._1.checkpoint) == Seq(1, 2))
      assert(folder.highestId == 3)
      Files.delete(root.resolve("snapline/chk-1/_metadata"))
      assert(folder.completed().map(_._1.checkpoint) == Seq(2))
    }
  }

  test(
    "a checkpoint that cannot be read now is not one that does not exist: whoever asks what is named must not be told less"
  ) {
    withFolder { (_, folder) =>
      val reads = FaultPlan.none
      FaultyFileSystem.run(reads)(assert(folder.completed().size == 3))
      val opened = reads.operations.zipWithIndex.filter(_._1.startsWith("open ")).map(_._2)
      assert(opened.size == 3)
      opened.foreach { at =>
        assertThrows[StorageFailure](FaultyFileSystem.run(new FaultPlan(at, Fault.Before))(folder.completed()))
      }
    }
  }
}
