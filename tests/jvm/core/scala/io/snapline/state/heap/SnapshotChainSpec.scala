package io.snapline.state.heap

import java.io.{File, IOException}
import java.nio.file.{FileSystemException, Files, Path}
import java.util.concurrent.{Callable, CountDownLatch, Executors, Future, TimeUnit, TimeoutException}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.StorageFailure
import io.snapline.state.LocalFolder

/** The files of a chain while snapshots are taken, written, given up and fail. */
class SnapshotChainSpec extends AnyFunSuite {
  private val ImageBytes = 1000L
  private val hardLink: (Path, Path) => Unit = (link, file) => Files.createLink(link, file): Unit

  private final class Place(link: (Path, Path) => Unit) {
    val root: File = Files.createTempDirectory("snapline-chain").toFile
    val chain = new SnapshotChain(new File(root, "db"), HeapSettings(imageAfter = 5, smallImage = 0), link)
    private val pool = Executors.newFixedThreadPool(2)
    private var count = 0

    def image(key: String, meanwhile: () => Unit = () => ()): HeapSnapshot = take(isImage = true, key, meanwhile)

    def changes(key: String, meanwhile: () => Unit = () => ()): HeapSnapshot = take(isImage = false, key, meanwhile)

    /** One row, which is written when `meanwhile` has returned. */
    private def take(isImage: Boolean, key: String, meanwhile: () => Unit): HeapSnapshot = {
      count += 1
      val rows = AllRows(
        0,
        each => {
          meanwhile()
          each(Row.make(key.getBytes, 0, key.length, 0, 0))
        }
      )
      val snapshot = new HeapSnapshot(isImage, Seq(rows), chain, new File(root, s"taken-$count"), () => ())
      chain.enqueue(snapshot, if (isImage) ImageBytes else 1)
      snapshot
    }

    def wantsImage: Boolean = chain.wantsImage(ImageBytes, 1)

    def elsewhere[A](body: => A): Future[A] = {
      val called: Callable[A] = () => body
      pool.submit(called)
    }

    def close(): Unit = {
      pool.shutdown()
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

  private def got[A](future: Future[A]): A = future.get(10, TimeUnit.SECONDS)

  private def await(latch: CountDownLatch): Unit = assert(latch.await(30, TimeUnit.SECONDS))

  /** The body runs while another thread writes an image of row `a`. */
  private def whileWritten(place: Place)(body: Future[String] => (() => Unit) => Unit): Unit = {
    val (arrived, released) = (new CountDownLatch(1), new CountDownLatch(1))
    val snapshot = place.image("a", () => { arrived.countDown(); await(released) })
    val written = place.elsewhere(keys(snapshot))
    await(arrived)
    try body(written)(() => released.countDown())
    finally released.countDown()
  }

  test("while a snapshot is written, the files are measured and the next ones are taken") {
    withPlace() { place =>
      whileWritten(place) { written => release =>
        assert(got(place.elsewhere(place.chain.storedBytes)) == 0)
        val second = got(place.elsewhere(place.changes("b")))
        val third = got(place.elsewhere(place.changes("c")))
        release()
        assert(keys(third) == "abc" && keys(second) == "ab" && got(written) == "a")
        val files = new File(place.root, "db").listFiles()
        assert(files.length == 3 && place.chain.storedBytes == files.map(_.length).sum)
      }
    }
  }

  test("a chain that is closed waits for the snapshot that is being written, and gives up the others") {
    withPlace() { place =>
      whileWritten(place) { written => release =>
        val second = got(place.elsewhere(place.changes("b")))
        val closed = place.elsewhere(place.chain.close())
        intercept[TimeoutException](closed.get(200, TimeUnit.MILLISECONDS))
        release()
        got(closed)
        assert(got(written) == "a")
        intercept[StorageFailure](second.materialize())
      }
    }
  }

  test("a snapshot that fails while others are taken takes those with it that stand on it") {
    withPlace() { place =>
      val (arrived, released) = (new CountDownLatch(1), new CountDownLatch(1))
      assert(keys(place.image("a")) == "a")
      val failing = place.changes("b", () => { arrived.countDown(); await(released); throw new IOException("full") })
      val failed = place.elsewhere(intercept[StorageFailure](failing.materialize()))
      await(arrived)
      val onIt = got(place.elsewhere(place.changes("c")))
      released.countDown()
      got(failed)
      val tooLate = place.changes("d")
      Seq(onIt, tooLate).foreach(lost => intercept[StorageFailure](lost.materialize()))
      assert(place.wantsImage)
      assert(keys(place.image("e")) == "e")
      assert(!place.wantsImage)
    }
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
