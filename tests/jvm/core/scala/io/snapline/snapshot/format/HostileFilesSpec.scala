package io.snapline.snapshot.format

import java.nio.file.Paths

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.error.SnaplineException
import io.snapline.snapshot.merged.{MergedFile, MergedMember, MergedPlace}
import io.snapline.state.FamilyDescriptor
import io.snapline.storage.MemoryStorage

/** Every reader of our files against files that somebody made up, checksums and all: taken, or refused with an error of
  * our own, at once; and whatever a file names lies in the checkpoint's folder.
  */
class HostileFilesSpec extends AnyFunSuite {
  private val Mutants = 3000
  private val clock = new UidClock
  private val seed = sys.env.get("SNAPLINE_SEED").fold(System.nanoTime % 1000000)(_.toLong)

  private val families =
    Seq(FamilyState(FamilyDescriptor(0, "default", keyGroups = true, multi = false, internal = false), 5))
  private val origin = Origin("1.2.3", "a run", Map("encoding" -> "unsaferow"))
  private val files = Seq(TableFile("000012.sst", clock.next(), 123, -5))
  private val ref = VersionRef(7, clock.next())

  private val handle =
    HandleMeta(ref, families, "rocksdb", files, Seq("CURRENT" -> 16), 1, 123, 1767225600000L, origin)
  private val changelog =
    ChangelogMeta(ref, Some(VersionRef(6, clock.next())), None, families, 12, 99, 4, 99, 1767225600000L, origin)
  private val merged =
    MergedFile(
      ref,
      Seq(MergedMember("state/0/1/left", ref, Frame.HeaderBytes + Frame.BlockHeaderBytes, 100)),
      1,
      "1.2.3"
    )
  private val blocksEnd = Frame.HeaderBytes + Frame.BlockHeaderBytes + 100L

  private val stateHandle =
    StateHandle(ref, Seq(SharedFile(clock.next(), 9, -1)), 9, 1, 9, 1, 2, 30, Some(MergedPlace(clock.next(), 28)))
  private val checkpoint = CheckpointMetadata(
    3,
    CheckpointProperties.RetainedOnFailure,
    "a query",
    "a run",
    6,
    1,
    2,
    3,
    Seq(OperatorMetadata(0, "join", 1, Seq(StoreMetadata("left", Seq(PartitionMetadata(0, stateHandle)))))),
    "v1\n{}\n{}",
    "v1\n{}",
    0,
    57600,
    WriterVersions("1.2.3", "4.2.0")
  )

  /** Reads mutants of a meta; `read` gives the names in it. */
  private def mutants(known: Array[Byte])(read: Array[Byte] => Seq[String]): Unit = {
    assert(read(known).forall(staysInside))
    val hostile = new HostileJson(new Random(seed))
    var refused = 0
    (0 until Mutants).foreach { number =>
      val bytes = hostile.changed(known)
      def clue = s"seed $seed, number $number: ${new String(bytes, "UTF-8").take(2000)}"
      val began = System.nanoTime
      try read(bytes).foreach(name => assert(staysInside(name), s"$name, $clue"))
      catch {
        case _: SnaplineException => refused += 1
        case e: Throwable => fail(clue, e)
      }
      assert(System.nanoTime - began < 5000000000L, clue)
    }
    assert(refused > Mutants / 10)
  }

  /** Of a name relative to the checkpoint. */
  private def staysInside(name: String): Boolean =
    !name.startsWith("/") && name.indexOf(0) < 0 && Paths.get(name).normalize.toString == name

  test("handles")(mutants(Meta.bytes(handle)) { bytes =>
    val meta = Meta.handle(bytes, "the file")
    meta.files.flatMap(file => Seq(file.name, file.storedName)) ++ meta.local.map(_._1)
  })

  test("changelogs")(mutants(Meta.bytes(changelog)) { bytes =>
    val meta = Meta.changelog(bytes, "the file")
    (meta.parent ++ meta.snapshot).map(_.toString).toSeq
  })

  test("merged files")(mutants(merged.bytes) { bytes =>
    MergedFile.read(bytes, "the file", blocksEnd).members.map(_.store)
  })

  test("_metadata")(mutants(metaOf(checkpoint)) { bytes =>
    val storage = new MemoryStorage
    new FrameWriter(storage.create(CheckpointMetadata.name(3)), Frame.MetadataMagic, false).finish(bytes)
    CheckpointMetadata.read(storage, 3)._1.handles.keys.map(_.folder).toSeq
  })

  private def metaOf(checkpoint: CheckpointMetadata): Array[Byte] = {
    val storage = new MemoryStorage
    checkpoint.write(storage): Unit
    val reader = new FrameReader(storage, CheckpointMetadata.name(3), Frame.MetadataMagic)
    try reader.meta
    finally reader.close()
  }
}
