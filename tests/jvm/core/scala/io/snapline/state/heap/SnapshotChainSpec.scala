package io.snapline.state.heap

import java.io.File
import java.nio.file.{FileSystemException, Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state.LocalFolder

/** The files of a chain as snapshots are taken and written. */
class SnapshotChainSpec extends AnyFunSuite {
  private val ImageBytes = 1000L

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

    def close(): Unit = {
      chain.close()
      LocalFolder.delete(root)
    }
  }

  private def withPlace(link: (Path, Path) => Unit)(body: Place => Unit): Unit = {
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
