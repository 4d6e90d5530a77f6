package io.snapline.state.heap

import java.io.File
import java.nio.file.{FileSystemException, Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.StorageFailure
import io.snapline.state.LocalFolder

/** The files of a chain as snapshots are taken, written and given up. */
class SnapshotChainSpec extends AnyFunSuite {
  private val ImageBytes = 1000L
  private val hardLink: (Path, Path) => Unit = (link, file) => Files.createLink(link, file): Unit

  private final class Place(link: (Path, Path) => Unit) {
    val root: File = Files.createTempDirectory("snapline-chain").toFile
    val chain = new SnapshotChain(new File(root, "db"), HeapSettings(imageAfter = 5, smallImage = 0), link)
    private var count = 0

    def image(key: String): HeapSnapshot = take(isImage = true, key)

    def changes(key: String): HeapSnapshot = take(isImage = false, key)

    /** Of one row. */
    private def take(isImage: Boolean, key: String): HeapSnapshot = {
      count += 1
      val rows = AllRows(0, each => each(Row.make(key.getBytes, 0, key.length, 0, 0)))
      val snapshot = new HeapSnapshot(isImage, Seq(rows), chain, new File(root, s"taken-$count"), () => ())
      chain.enqueue(snapshot, if (isImage) ImageBytes else 1)
      snapshot
    }

    def wantsImage: Boolean = chain.wantsImage(ImageBytes, 1)

    def close(): Unit = {
      chain.close()
      LocalFolder.delete(root)
    }
  }

  private def withPlace(link: (Path, Path) => Unit = hardLink)(body: Place => Unit): Unit = {
    val place = new Place(link)
    try body(place)
    finally place.close()
  }

  /** The rows that one would find who loads it. */
  private def keys(snapshot: HeapSnapshot): String = {
    val found = new StringBuilder
    snapshot.materialize().tables.foreach { file =>
      RowsFile.read(file)((bytes, entry) => found.append(new String(bytes, entry.keyOffset, entry.keyLength)): Unit)
    }
    found.toString
  }

  test("changes that stand on a snapshot that nobody wants are given up, behind an image that waits, too") {
    withPlace() { place =>
      val first = place.image("a")
      place.changes("b").discard()
      val onIt = place.changes("c")
      intercept[StorageFailure](onIt.materialize())
      assert(place.wantsImage)
      assert(keys(first) == "a")
      val next = place.image("d")
      assert(keys(place.changes("e")) == "de" && keys(next) == "d")
    }
  }

  test("a snapshot that nobody wants leaves those before it, and those from the next image on") {
    withPlace() { place =>
      assert(keys(place.image("a")) == "a")
      val before = place.changes("b")
      val unwanted = place.changes("c")
      val onIt = place.changes("d")
      val next = place.image("e")
      val onNext = place.changes("f")
      unwanted.discard()
      assert(!place.wantsImage)
      assert(keys(before) == "ab")
      Seq(unwanted, onIt).foreach(lost => intercept[StorageFailure](lost.materialize()))
      assert(keys(onNext) == "ef" && keys(next) == "e")
    }
  }

  for (
    refusal <-
      Seq(new FileSystemException("file", "link", "Operation not permitted"), new UnsupportedOperationException)
  )
    test(s"a disk without hard links holds copies: ${refusal.getClass.getSimpleName}") {
      withPlace((_, _) => throw refusal) { place =>
        assert(keys(place.image("a")) == "a")
        assert(keys(place.changes("b")) == "ab")
      }
    }
}
