package io.snapline.error

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.storage.HadoopCheckpointStorage

class UriPasswordSpec extends AnyFunSuite {
  test("an error names no password") {
    val error =
      new StateNotFound("ftp://me:se%2Fcret@host:21/a@b does not exist.", "look at s3a://key:other@bucket/.")
    assert(error.found == "ftp://me:***@host:21/a@b does not exist.")
    assert(error.action == "look at s3a://key:***@bucket/.")
    assert(error.getMessage == s"[SNAPLINE-NOT-FOUND] ${error.found} Do: ${error.action}")
  }

  test("what is no password stays") {
    val kept = "abfss://container@account.net/x, hdfs://host:8020/a@b and 12:30 me@here"
    assert(UriPassword.hide(kept) == kept)
    assert(UriPassword.hide(null) == null)
  }

  test("a storage is called by a name without it, in logs and errors alike") {
    val storage = new HadoopCheckpointStorage(new Path("ftp://me:secret@host/a"), new Configuration)
    assert(storage.location == "ftp://me:***@host/a" && storage.path("b") == "ftp://me:***@host/a/b")
  }
}
