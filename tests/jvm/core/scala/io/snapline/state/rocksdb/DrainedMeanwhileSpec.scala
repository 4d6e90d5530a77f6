package io.snapline.state.rocksdb

import java.io.File
import java.nio.file.Files
import java.util.concurrent.locks.LockSupport
import java.util.concurrent.{Executors, Future, TimeUnit}

import scala.collection.immutable.{SortedMap, TreeMap}
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.Cases
import io.snapline.state.rowtable.PageMemory
import io.snapline.state.{ChangeSink, ColumnFamily, FamilyDescriptor, LocalFolder, RowCursor}

/** A backend whose snapshots are made by another thread while the next batches run: reads and scans find a plain map's
  * rows, before and after restores. A seed repeats the operations; when the other thread applies changes is chance.
  */
class DrainedMeanwhileSpec extends AnyFunSuite {
  private val memory = new RocksDbMemory(16L << 20)
  private val nowhere: ChangeSink = (_, _, _, _) => ()
  private val single = FamilyDescriptor(0, "default", keyGroups = false, multi = false, internal = false)
  private val multi = FamilyDescriptor(1, "lists", keyGroups = false, multi = true, internal = false)
  private val PrefixBytes = 3
  private val Keys = 6000
  private type Rows = SortedMap[String, String]

  /** Ten keys share a prefix. */
  private def key(i: Int): String = f"${i % 600}%03d/${i / 600}"

  private final class Run(seed: Int, tableBytes: Long, prefixes: Boolean) extends AutoCloseable {
    private val random = new Random(seed)
    private val root = Files.createTempDirectory("snapline-drained").toFile
    private var opened = 0
    private var count = 0
    private var backend: RocksDbBackend = _
    private var family: RocksDbFamily = _
    private var lists: ColumnFamily = _
    private var model: Rows = TreeMap.empty
    private var listed: Rows = TreeMap.empty
    private val pool = Executors.newSingleThreadExecutor()
    private var snapshots = Seq.empty[Future[_]]
    open(None)

    private def open(from: Option[File]): Unit = {
      opened += 1
      backend = new RocksDbBackend(
        from.getOrElse(new File(root, s"db-$opened")),
        from.isDefined,
        RocksDbSettings(),
        memory,
        new PageMemory(tableBytes)
      )
      if (from.isDefined) backend.restoreFamilies(Seq(single -> model.size.toLong, multi -> listed.size.toLong))
      family = backend.createFamily("default", keyGroups = false, multi = false, internal = false)
        .asInstanceOf[RocksDbFamily]
      lists = backend.createFamily("lists", keyGroups = false, multi = true, internal = false)
      if (prefixes) family.hasPrefixes((_, _, _) => PrefixBytes)
    }

    /** Its changes are applied some time from now. */
    private def snapshot(): Unit = {
      val pending = backend.snapshot()
      val pause = random.nextInt(3000000).toLong
      val making: Runnable = () => {
        LockSupport.parkNanos(pause)
        LocalFolder.delete(pending.materialize().folder)
      }
      snapshots :+= pool.submit(making)
    }

    private def awaitSnapshots(): Unit = {
      snapshots.foreach(_.get())
      snapshots = Nil
    }

    private def restore(): Unit = {
      awaitSnapshots()
      val folder = backend.snapshot().materialize().folder
      backend.close()
      open(Some(folder))
      // Pages are small now: some hold deletions alone, and rows come up beside the snapshot that applies these.
      backend.beginChanges(nowhere)
      deleteMany()
      (0 until Keys / 4).foreach(miss)
      backend.cutChanges()
      snapshot()
    }

    /** A value begins with its number, and blanks follow: a failure shows number and length. */
    private def shown(value: Array[Byte]): String =
      if (value == null) "none" else s"${new String(value).trim} in ${value.length} bytes"

    private def of(key: String): String = model.getOrElse(key, "none")

    private def rowsOf(cursor: RowCursor): Rows =
      try Iterator.continually(cursor).takeWhile(_.next()).map(at => new String(at.key) -> shown(at.value)).to(TreeMap)
      finally cursor.close()

    private def put(i: Int): Unit = {
      count += 1
      val value = count.toString.padTo(random.nextInt(1500), ' ').getBytes
      family.put(key(i).getBytes, value)
      model += key(i) -> shown(value)
    }

    private def delete(i: Int): Unit = {
      assert(family.delete(key(i).getBytes) == model.contains(key(i)))
      model -= key(i)
    }

    private def get(i: Int): Unit = assert(shown(family.get(key(i).getBytes)) == of(key(i)), s"of key ${key(i)}")

    /** A look for a key that is nowhere pays for four rows of the walk. */
    private def miss(i: Int): Unit = assert(family.get(s"${key(i)}none".getBytes) == null)

    private def step(): Unit = {
      val i = random.nextInt(Keys)
      random.nextInt(20) match {
        case 0 | 1 | 2 | 3 | 4 | 5 => put(i)
        case 6 | 7 => delete(i)
        case 8 => assert(family.contains(key(i).getBytes) == model.contains(key(i)))
        case 9 =>
          val some = Array.fill(20)(key(random.nextInt(Keys)))
          assert(family.multiGet(some.map(_.getBytes)).toSeq.map(shown) == some.toSeq.map(of))
        case 10 =>
          val prefix = key(i).take(PrefixBytes)
          assert(rowsOf(family.prefixScan(prefix.getBytes)) == model.range(prefix, prefix + "~"))
        case 11 => miss(i)
        case 12 | 13 | 14 => change(key(i % 300))
        case 15 => assert(listOf(key(i % 300)) == listed.get(key(i % 300)))
        case _ => get(i)
      }
    }

    private def listOf(key: String): Option[String] = Option(lists.get(key.getBytes)).map(new String(_))

    /** Of a list: grows, and goes now and then. */
    private def change(key: String): Unit = if (random.nextInt(4) == 0) {
      assert(lists.delete(key.getBytes) == listed.contains(key))
      listed -= key
    } else {
      count += 1
      lists.merge(key.getBytes, s"$count,".getBytes)
      listed += key -> (listed.getOrElse(key, "") + s"$count,")
    }

    /** Those that follow each other fill pages of deletions. */
    private def deleteMany(): Unit = {
      val from = random.nextInt(Keys)
      (from until math.min(Keys, from + 1500)).filter(i => model.contains(key(i))).foreach(delete)
    }

    private def deleteRange(): Unit = {
      val (from, until) = (key(random.nextInt(Keys)), key(random.nextInt(Keys)))
      if (from < until) {
        family.deleteRange(from.getBytes, until.getBytes)
        model = model.filterNot { case (key, _) => key >= from && key < until }
      }
    }

    def play(batches: Int): Unit = {
      for (_ <- 0 until batches) {
        backend.beginChanges(nowhere)
        random.nextInt(12) match {
          case 0 => deleteMany()
          case 1 => deleteRange()
          case 2 | 3 => (0 until Keys / 4).foreach(miss)
          case 4 => (0 until 1000).foreach(_ => put(random.nextInt(Keys)))
          case _ =>
        }
        (0 until 200).foreach(_ => step())
        backend.cutChanges()
        assert(family.keyCount == model.size)
        assert(lists.keyCount == listed.size)
        random.nextInt(8) match {
          case 0 => restore()
          case 1 | 2 | 3 | 4 => snapshot()
          case _ =>
        }
      }
      awaitSnapshots()
      (0 until Keys).foreach(get)
      assert(rowsOf(family.iterate()) == model)
      (0 until 300).foreach(i => assert(listOf(key(i)) == listed.get(key(i))))
    }

    override def close(): Unit = {
      pool.shutdown()
      pool.awaitTermination(1, TimeUnit.MINUTES): Unit
      backend.close()
      LocalFolder.delete(root)
    }
  }

  private val seeds = if (Cases.whole) 1 to 20 else 1 to 3

  for (
    (room, bytes) <- Seq("memory for all rows" -> (64L << 20), "memory for few" -> 0L);
    prefixes <- Seq(false, true);
    seed <- seeds
  ) test(s"$room, ${if (prefixes) "scans by prefix" else "no prefixes"}, seed $seed") {
    val run = new Run(seed, bytes, prefixes)
    try run.play(80)
    finally run.close()
  }
}
