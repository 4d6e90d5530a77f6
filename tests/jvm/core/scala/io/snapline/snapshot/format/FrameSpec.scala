package io.snapline.snapshot.format

import java.io.File
import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.snapline.error._
import io.snapline.storage.MemoryStorage

/** The frame of both kinds of file: what is written is read, and nothing else is. */
class FrameSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val name = "1.changelog"
  private val blocks = Gen.listOf(Gen.frequency(
    1 -> Gen.const(Array.emptyByteArray),
    3 -> Gen.choose(1, 5000).map(length => Array.tabulate(length)(i => (i % 5).toByte)),
    3 -> Gen.zip(Gen.choose(1, 5000), Gen.long).map { case (length, seed) => new Random(seed).nextBytes(length) }
  ))

  private def write(
      storage: MemoryStorage,
      blocks: Seq[Array[Byte]],
      meta: Array[Byte],
      compress: Boolean
  ): Array[Byte] = {
    val frame = new FrameWriter(storage.create(name), Frame.ChangelogMagic, compress)
    blocks.foreach(block => frame.block(Array[Byte](1, 2) ++ block, 2, block.length))
    frame.finish(meta)
    assert(storage.files(name).length == frame.bytesWritten)
    storage.files(name)
  }

  private def read(storage: MemoryStorage): (Seq[Vector[Byte]], Vector[Byte]) = {
    val reader = new FrameReader(storage, name, Frame.ChangelogMagic)
    try {
      val found = Seq.newBuilder[Vector[Byte]]
      reader.foreachBlock((bytes, length) => found += bytes.take(length).toVector)
      (found.result(), reader.meta.toVector)
    } finally reader.close()
  }

  private def sample(compress: Boolean = true): Array[Byte] = {
    val storage = new MemoryStorage
    val random = new Random(5)
    write(storage, Seq(new Array[Byte](300), random.nextBytes(100), "abc".getBytes), "{\"a\":1}".getBytes, compress)
  }

  private def refused(bytes: Array[Byte], what: => String): SnaplineException = {
    val storage = new MemoryStorage
    storage.files(name) = bytes
    try { read(storage); fail(s"$what was read") }
    catch { case e: SnaplineException => e }
  }

  test("blocks and meta read back") {
    forAll(blocks, Gen.oneOf(true, false), Gen.choose(0, 300)) { (blocks, compress, metaLength) =>
      val storage = new MemoryStorage
      val meta = Array.tabulate(metaLength)(_.toByte)
      write(storage, blocks, meta, compress)
      assert(read(storage) == (blocks.map(_.toVector), meta.toVector))
      assert(storage.open == 0)
    }
  }

  test("a file too large to be read at once reads back, and damage in it is seen") {
    val storage = new MemoryStorage
    val random = new Random(6)
    val blocks = Seq.fill(5)(random.nextBytes(4 << 20)) :+ new Array[Byte](1000000)
    val whole = write(storage, blocks, Array[Byte](7), compress = true)
    assert(whole.length > (20 << 20))
    assert(read(storage) == (blocks.map(_.toVector), Vector[Byte](7)))
    Seq(0, 9, 17, 30, 5 << 20, whole.length - 1, whole.length - 33, whole.length - 40).foreach { at =>
      val damaged = whole.clone
      damaged(at) = (damaged(at) ^ 4).toByte
      assert(refused(damaged, s"byte $at").isInstanceOf[CheckpointDamaged])
    }
    assert(refused(whole.dropRight(100), "a part").isInstanceOf[CheckpointDamaged])
  }

  for (compress <- Seq(true, false)) {
    test(s"a change of any bit is damage: compressed $compress") {
      val whole = sample(compress)
      for (at <- whole.indices; bit <- 0 until 8) {
        val damaged = whole.clone
        damaged(at) = (damaged(at) ^ (1 << bit)).toByte
        assert(refused(damaged, s"bit $bit of byte $at").isInstanceOf[CheckpointDamaged])
      }
    }
  }

  test("a file cut short or grown anywhere is damage") {
    val whole = sample()
    whole.indices.foreach(length =>
      assert(refused(whole.take(length), s"$length bytes").isInstanceOf[CheckpointDamaged])
    )
    assert(refused(whole :+ 0.toByte, "a longer file").isInstanceOf[CheckpointDamaged])
    assert(refused(whole ++ whole, "a file twice").isInstanceOf[CheckpointDamaged])
    assert(refused(whole.drop(1), "a later beginning").isInstanceOf[CheckpointDamaged])
    assert(refused(0.toByte +: whole, "an earlier beginning").isInstanceOf[CheckpointDamaged])
    assert(refused(new Array[Byte](500), "zeros").isInstanceOf[CheckpointDamaged])
  }

  test("blocks in another order, missing or twice are damage or seen by who reads them") {
    val whole = sample(compress = false)
    // Block 0 has 300 bytes from byte 16 on, block 1 100.
    val (one, two) = (whole.slice(16, 16 + 12 + 300), whole.slice(328, 328 + 12 + 100))
    val rest = whole.drop(440)
    assert(refused(whole.take(16) ++ one ++ rest, "a block left out").isInstanceOf[CheckpointDamaged])
    assert(refused(whole.take(16) ++ one ++ two ++ two ++ rest, "a block twice").isInstanceOf[CheckpointDamaged])
  }

  test("a handle is no changelog") {
    val storage = new MemoryStorage
    val frame = new FrameWriter(storage.create(name), Frame.HandleMagic, compress = true)
    frame.finish(Array.emptyByteArray)
    assert(intercept[CheckpointDamaged](read(storage)).found.contains("SNAPCLOG"))
  }

  test("files of Spark's own providers are told apart") {
    val random = new Random(8)
    Seq("LZ4Block", "PK\u0003\u0004", "\u0028\u00b5\u002f\u00fd", "\u0082SNAPPY\u0000", "ZV\u0001").foreach { begin =>
      val foreign = begin.getBytes("ISO-8859-1") ++ random.nextBytes(200)
      val error = refused(foreign, begin)
      assert(error.isInstanceOf[NotACheckpoint] && error.found.contains(name), begin)
    }
  }

  test("a later format is refused by its number") {
    val storage = new MemoryStorage
    val whole = sample()
    val header = Frame.wrap(whole, 0, 16)
    header.putShort(8, 2.toShort)
    header.putInt(12, Frame.crc(whole, 0, 12))
    storage.files(name) = whole
    assert(intercept[UnsupportedVersion](read(storage)).found.contains("format 2"))
  }

  test("an unknown codec is damage") {
    val whole = sample()
    whole(10) = 9
    Frame.wrap(whole, 0, 16).putInt(12, Frame.crc(whole, 0, 12))
    assert(refused(whole, "codec 9").found.contains("codec 9"))
  }

  test("a length that lies, under a checksum that fits, is refused before memory is taken for it") {
    def lying(stored: Int, raw: Int): Array[Byte] = {
      val whole = sample(compress = true)
      val block = Frame.wrap(whole, 16, whole.length - 16)
      val length = block.getInt(0)
      block.putInt(0, stored)
      block.putInt(4, raw)
      val covered = if (stored >= 0 && stored < whole.length - 28) stored else length
      block.putInt(8, Frame.crc(whole.slice(16, 24), 8, whole, 28, covered))
      whole
    }
    val length = Frame.wrap(sample(), 16, 4).getInt(0)
    for (
      raw <-
        Seq(-1, Int.MinValue, Int.MaxValue, (1 << 30) + 1, 1 << 30, 1 << 29, length * 256 + 1, length - 1, 301, 299)
    ) {
      assert(refused(lying(length, raw), s"raw length $raw").isInstanceOf[CheckpointDamaged])
    }
    for (stored <- Seq(-1, Int.MinValue, Int.MaxValue, 1 << 30, 100000, 0)) {
      assert(refused(lying(stored, 300), s"stored length $stored").isInstanceOf[CheckpointDamaged])
    }
  }

  test("a trailer whose numbers do not fit is damage though its checksum does") {
    def lying(change: java.nio.ByteBuffer => Unit): Array[Byte] = {
      val whole = sample()
      val trailer = Frame.wrap(whole, whole.length - 32, 32)
      change(trailer)
      trailer.putInt(20, Frame.crc(whole, whole.length - 32, 20))
      whole
    }
    Seq(-1L, 0L, 15L, Long.MaxValue, Long.MinValue, 1L << 40).foreach { offset =>
      assert(refused(lying(_.putLong(0, offset): Unit), s"meta at $offset").isInstanceOf[CheckpointDamaged])
    }
    Seq(-1, 0, Int.MaxValue, Int.MinValue, 8).foreach { length =>
      assert(refused(lying(_.putInt(8, length): Unit), s"meta of $length").isInstanceOf[CheckpointDamaged])
    }
    Seq(-1, 0, 2, 4, Int.MaxValue).foreach { count =>
      assert(refused(lying(_.putInt(16, count): Unit), s"$count blocks").isInstanceOf[CheckpointDamaged])
    }
  }

  test("format numbers are those of docs/FORMAT.md, which Python's are held against too") {
    val folders = Iterator.iterate(new File("").getAbsoluteFile)(_.getParentFile).takeWhile(_ != null)
    val page = folders.map(new File(_, "docs/FORMAT.md")).find(_.isFile).getOrElse(fail("no docs/FORMAT.md"))
    val row = """\| `(SNAP[A-Z]{4})` \| ([\d, ]+) \|.*""".r
    val told = Files.readAllLines(page.toPath).asScala.collect { case row(magic, numbers) =>
      magic -> numbers.split(", ").map(_.toInt).toSeq
    }.toMap
    val magics = Seq(
      Frame.ChangelogMagic,
      Frame.HandleMagic,
      Frame.MetadataMagic,
      Frame.MergedMagic,
      Frame.SavepointMagic,
      Frame.CutMagic
    )
    assert(told == magics.map(magic => magic -> (Frame.FormatNumber to Frame.newestFormat(magic))).toMap)
  }

  test("a block no reader would take back is not written") {
    val storage = new MemoryStorage
    val frame = new FrameWriter(storage.create(name), Frame.ChangelogMagic, compress = false)
    intercept[StorageFailure](frame.block(new Array[Byte](8), 0, Frame.MaxRawBytes + 1))
    frame.abandon()
    assert(storage.files.isEmpty && storage.open == 0)
  }

  test("a file whose header cannot be written is given up") {
    val storage = new MemoryStorage
    storage.failWriteTo = Some(name)
    intercept[StorageFailure](new FrameWriter(storage.create(name), Frame.ChangelogMagic, compress = true))
    assert(storage.files.isEmpty && storage.open == 0)
  }
}
