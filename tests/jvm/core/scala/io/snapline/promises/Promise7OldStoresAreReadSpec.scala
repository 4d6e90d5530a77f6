package io.snapline.promises

import java.io.File
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.store.StoreFixture

/** A store written by any released version can be read by every later one. */
class Promise7OldStoresAreReadSpec extends AnyFunSuite {
  private val fixtures = new File(getClass.getResource("/fixtures").toURI)

  for (folder <- fixtures.listFiles().toSeq.filter(_.isDirectory).sorted) {
    test(s"a store of ${folder.getName} is read, and written on") {
      val fixture = new StoreFixture(backend = FixtureContent.backend(folder.getName))
      try {
        FixtureContent.copy(new File(folder, "store"), fixture.folder)
        val expected = Files.readAllLines(new File(folder, "expected.txt").toPath).asScala.toSeq
        val state = fixture.open()
        state.load(FixtureContent.LastVersion, None)
        assert(FixtureContent.lines(state) == expected)
        val steps = new File(folder, "feed.txt")
        if (steps.exists()) assert(FixtureContent.feed(fixture) == Files.readAllLines(steps.toPath).asScala.toSeq)
        FixtureContent.change(state, FixtureContent.LastVersion + 1)
        val ref = state.commit()
        val after = FixtureContent.lines(state)
        val again = fixture.open()
        again.load(ref.version, Some(ref.uid))
        assert(FixtureContent.lines(again) == after)
      } finally fixture.close()
    }
  }

  private val merged = new File(getClass.getResource("/merged-fixtures").toURI)

  for (folder <- merged.listFiles().toSeq.filter(_.isDirectory).sorted) {
    test(s"a checkpoint of ${folder.getName} with merged handles is read, and written on") {
      val fixture = new StoreFixture()
      try {
        val root = new File(fixture.folder, "checkpoint")
        FixtureContent.copy(new File(folder, "checkpoint"), root)
        val expected = Files.readAllLines(new File(folder, "expected.txt").toPath).asScala.toSeq
        val handles = MergedFixture.metadata(root).handles
        assert(handles.size == 2 && handles.values.forall(_.merged.isDefined))
        handles.foreach { case (store, handle) =>
          val state = MergedFixture.open(root, store, handle, fixture)
          state.load(handle.ref.version, Some(handle.ref.uid))
          assert(FixtureContent.lines(state) == expected)
          FixtureContent.change(state, FixtureContent.LastVersion + 1)
          val ref = state.commit()
          val after = FixtureContent.lines(state)
          val again = MergedFixture.open(root, store, handle, fixture)
          again.load(ref.version, Some(ref.uid))
          assert(FixtureContent.lines(again) == after)
          Seq(state, again).foreach(_.close())
        }
      } finally fixture.close()
    }
  }

  test("there is a store of every format") {
    assert(merged.list().toSeq == Seq("format-1"))
    val names = Seq("format-1", "format-1-hashmap", "format-1-steps", "format-1-steps-hashmap")
    assert(fixtures.list().toSeq.sorted == names)
    assert(names.filter(name => new File(fixtures, s"$name/feed.txt").exists()) == names.takeRight(2))
  }
}
