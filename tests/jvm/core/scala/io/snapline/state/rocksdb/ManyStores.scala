package io.snapline.state.rocksdb

import java.io.File
import java.lang.management.ManagementFactory
import java.nio.file.Files

import com.sun.management.UnixOperatingSystemMXBean

import io.snapline.error.SnaplineException
import io.snapline.state.{ChangeSink, LocalFolder}
import io.snapline.state.rowtable.PageMemory

/** Opens stores one after the other in a JVM of its own, and says how many files it has open:
  * `ManyStores STORES FAMILIES`.
  */
object ManyStores {
  private val nowhere: ChangeSink = (_, _, _, _) => ()
  private val Batches = 4
  private val Rows = 200

  def main(arguments: Array[String]): Unit = {
    val (stores, families) = (arguments(0).toInt, arguments(1).toInt)
    val root = Files.createTempDirectory("many-stores").toFile
    val memory = new RocksDbMemory(64L << 20)
    val pages = new PageMemory(64L << 20)
    val before = open()
    var opened = 0
    try {
      (0 until stores).foreach { i =>
        fill(new RocksDbBackend(new File(root, s"db-$i"), false, RocksDbSettings(), memory, pages), families)
        opened += 1
      }
      println(s"files ${open() - before}")
    } catch {
      case e: SnaplineException => println(s"refused after $opened stores: ${e.getMessage}")
    } finally LocalFolder.delete(root)
  }

  /** Batches with a snapshot each, so that every family has table files. */
  private def fill(backend: RocksDbBackend, families: Int): Unit = (0 until Batches).foreach { batch =>
    backend.beginChanges(nowhere)
    (0 until families).foreach { f =>
      val family = backend.createFamily(s"family-$f", keyGroups = false, multi = false, internal = false)
      (0 until Rows).foreach(row => family.put(f"$batch%d-$row%05d".getBytes, new Array[Byte](100)))
    }
    backend.cutChanges()
    LocalFolder.delete(backend.snapshot().materialize().folder)
  }

  private def open(): Long =
    ManagementFactory.getOperatingSystemMXBean.asInstanceOf[UnixOperatingSystemMXBean].getOpenFileDescriptorCount
}
