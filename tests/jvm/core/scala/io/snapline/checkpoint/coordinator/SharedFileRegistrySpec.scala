package io.snapline.checkpoint.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.{StoreFile, StoreId}

class SharedFileRegistrySpec extends AnyFunSuite {
  import Holder._

  private val store = StoreId(0, 0, "default")
  private val other = StoreId(0, 1, "default")
  private def file(name: String, of: StoreId = store): StoreFile = StoreFile(of, name)
  private val (a, b, c) = (file("a"), file("b"), file("c"))

  test("a file is free when the last that names it lets go") {
    val files = new SharedFileRegistry
    files.hold(OfCheckpoint(1), Seq(a, b))
    files.hold(OfCheckpoint(2), Seq(b, c))
    files.hold(OfStore(store, 2), Seq(c))
    assert(files.size == 3 && files.unnamed(Seq(a, b, c, file("d"))) == Seq(file("d")))
    assert(files.release(OfCheckpoint(1)) == Seq(a))
    assert(files.release(OfCheckpoint(2)) == Seq(b) && files.names(c))
    assert(files.release(OfStore(store, 2)) == Seq(c) && files.size == 0)
    assert(files.release(OfStore(store, 2)).isEmpty)
  }

  test("who names a file twice names it once") {
    val files = new SharedFileRegistry
    files.hold(OfCheckpoint(1), Seq(a, a))
    files.hold(OfCheckpoint(1), Seq(a, b))
    assert(files.release(OfCheckpoint(1)).toSet == Set(a, b) && files.size == 0)
  }

  test("files of the same name in two stores are two files") {
    val files = new SharedFileRegistry
    files.hold(OfCheckpoint(1), Seq(a))
    files.hold(OfCheckpoint(2), Seq(file("a", other)))
    assert(files.release(OfCheckpoint(1)) == Seq(a) && files.names(file("a", other)))
  }
}
