package io.snapline.state.rocksdb

import java.io.File

import scala.io.Source

import org.scalatest.funsuite.AnyFunSuite

/** What many stores of an executor take of its open files, in a JVM of their own. */
class OpenFilesSpec extends AnyFunSuite {
  private def run(limit: Int, stores: Int, families: Int): String = {
    val java = new File(System.getProperty("java.home"), "bin/java").getPath
    val command = s"""ulimit -n $limit; exec "$$0" "$$@""""
    val process = new ProcessBuilder(
      "bash",
      "-c",
      command,
      java,
      "-Xmx256m",
      "-cp",
      System.getProperty("java.class.path"),
      "io.snapline.state.rocksdb.ManyStores",
      stores.toString,
      families.toString
    ).redirectErrorStream(true).start()
    process.getOutputStream.close()
    val text = Source.fromInputStream(process.getInputStream).mkString
    process.waitFor(): Unit
    text
  }

  test("an executor that runs out of files says so, and what to raise") {
    val text = run(limit = 200, stores = 1000, families = 1)
    assert(text.contains("refused after "), text)
    assert(text.contains("[SNAPLINE-STORAGE]") && text.contains("Too many open files"), text)
    assert(text.contains("raise the limit of open files of this executor (ulimit -Hn)"), text)
    assert(text.contains("may have 200"), text)
  }
}
