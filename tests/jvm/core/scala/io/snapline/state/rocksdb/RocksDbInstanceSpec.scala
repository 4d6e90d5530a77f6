package io.snapline.state.rocksdb

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.Random

import org.rocksdb.WriteOptions
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.Cases
import io.snapline.state.LocalFolder

/** A database that several threads use at once. */
class RocksDbInstanceSpec extends AnyFunSuite {
  private val rounds = if (Cases.whole) 20000 else 500

  test("a snapshot ends beside iterators that end: the file that one of them held is removed by another thread") {
    val root = Files.createTempDirectory("snapline-instance").toFile
    val instance = new RocksDbInstance(new File(root, "db"), RocksDbSettings(), new RocksDbMemory(16L << 20))
    val family = instance.family("a")
    val unlogged = new WriteOptions().setDisableWAL(true)
    val done = new AtomicBoolean
    val threads = Executors.newFixedThreadPool(4)
    try {
      val readers = Seq.tabulate(3) { seed =>
        threads.submit { () =>
          val random = new Random(seed)
          while (!done.get()) {
            val cursor = new RocksDbCursor(instance, family, null, null, _ => (), _ => ())
            cursor.next(): Unit
            if (random.nextInt(3) == 0) Thread.sleep(0, random.nextInt(500000))
            cursor.close()
          }
          true
        }
      }
      val snapshots = threads.submit { () =>
        for (i <- 0 until rounds) {
          val key = s"$i".getBytes
          instance.db.put(family, unlogged, key, key)
          instance.flushAll()
          val target = new File(root, s"snapshot-$i")
          instance.hardLink(target)
          LocalFolder.delete(target)
        }
        true
      }
      assert(snapshots.get(10, TimeUnit.MINUTES))
      done.set(true)
      assert(readers.forall(_.get(1, TimeUnit.MINUTES)))
      unlogged.close()
      instance.close()
      LocalFolder.delete(root)
    } finally {
      done.set(true)
      threads.shutdownNow(): Unit
    }
  }
}
