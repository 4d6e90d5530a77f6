package io.snapline.spark.protocol

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.MergedPlace

/** What executors send passes; what would become a path outside a store, an array without end or a missing field does
  * not, whatever bytes it was made from.
  */
class MessageCheckSpec extends AnyFunSuite {
  import DriverMessage._

  private val query = "e7475e07-c16f-4df8-98b5-7ec6acbdff5a"
  private val run = "0f0f0f0f-c16f-4df8-98b5-7ec6acbdff5a"
  private val uid = "0190c0ff-ee00-7000-8000-000000000000"
  private val store = StoreId(0, 1, "default")
  private val ref = VersionRef(7, uid)
  private val handle = StateHandle(ref, Seq(SharedFile(uid, 9, -5)), 1, 1, 1, 0, 0, 1, Some(MergedPlace(uid, 0)))
  private val ack = Acknowledgement(query, run, 3, store, handle)
  private val decline = Decline(query, run, 3, store, FailureReason.AsyncFailure, "no room")
  private val held = HoldersReport("driver", Seq(run), Seq(HeldStore(run, store, ref)))
  private val sums = BroadcastReport(run, 0, 7, 1, Seq(("rules", 3L, -1L)))
  private val first = FirstRun(run, 0, 7, 1, 12)
  private val append = Append("file:/c/state/0/1/7.changelog", uid, 0, Array[Byte](1, 2))

  private val sound = Seq(
    ack,
    ack.copy(handle = handle.copy(merged = None, files = Nil)),
    ack.copy(store = StoreId(2, 0, "left-keyToNumValues")),
    decline,
    held,
    HoldersReport("1", Nil, Nil),
    sums,
    first,
    append,
    Finish("a", uid, 0),
    Abandon("a", uid),
    Length("a"),
    Read("a", 0, 1 << 20),
    List("a"),
    Delete("a")
  )

  test("what executors send passes") {
    sound.foreach(message => assert(MessageCheck.refusal(message).isEmpty, message))
  }

  private val outside = Seq("../../../etc", "..", "a/b", "/tmp", "", ".hidden", "a\u0000b", "x" * 2000)
  private val noUids = Seq("../" + uid, uid + "/../x", "", null, "../../victim", uid.toUpperCase, "x" * 1000000)

  test("no name leads out of a store's folder") {
    outside.foreach { name =>
      assert(MessageCheck.refusal(ack.copy(store = store.copy(store = name))).nonEmpty, name)
      assert(MessageCheck.refusal(decline.copy(store = store.copy(store = name))).nonEmpty, name)
      assert(MessageCheck.refusal(held.copy(stores = Seq(HeldStore(run, store.copy(store = name), ref)))).nonEmpty)
    }
    noUids.foreach { uid =>
      assert(MessageCheck.refusal(ack.copy(handle = handle.copy(ref = VersionRef(1, uid)))).nonEmpty)
      assert(MessageCheck.refusal(ack.copy(handle = handle.copy(files = Seq(SharedFile(uid, 1, 1))))).nonEmpty)
      assert(MessageCheck.refusal(ack.copy(handle = handle.copy(merged = Some(MergedPlace(uid, 0))))).nonEmpty)
      assert(MessageCheck.refusal(held.copy(stores = Seq(HeldStore(run, store, VersionRef(1, uid))))).nonEmpty)
    }
  }

  test("numbers that cannot be are refused") {
    Seq(-1L, Long.MinValue, Long.MaxValue).foreach { number =>
      assert(MessageCheck.refusal(ack.copy(checkpoint = number)).nonEmpty)
      assert(MessageCheck.refusal(ack.copy(store = store.copy(operator = number))).nonEmpty)
      assert(MessageCheck.refusal(first.copy(operator = number)).nonEmpty)
      assert(MessageCheck.refusal(first.copy(batch = number)).nonEmpty)
      assert(MessageCheck.refusal(ack.copy(handle = handle.copy(ref = VersionRef(number, uid)))).nonEmpty)
    }
    Seq(-1, Int.MinValue).foreach { number =>
      assert(MessageCheck.refusal(ack.copy(store = store.copy(partition = number))).nonEmpty)
      assert(MessageCheck.refusal(ack.copy(handle = handle.copy(uploadedFiles = number))).nonEmpty)
      assert(MessageCheck.refusal(first.copy(partition = number)).nonEmpty)
      assert(MessageCheck.refusal(first.copy(task = number.toLong)).nonEmpty)
      assert(MessageCheck.refusal(append.copy(position = number)).nonEmpty)
      assert(MessageCheck.refusal(Read("a", number, 1)).nonEmpty)
      assert(MessageCheck.refusal(Read("a", 0, number)).nonEmpty)
      assert(MessageCheck.refusal(Finish("a", "b", number)).nonEmpty)
    }
    assert(MessageCheck.refusal(Read("a", 0, Int.MaxValue)).nonEmpty)
    assert(MessageCheck.refusal(append.copy(bytes = new Array[Byte](17 << 20))).nonEmpty)
    assert(MessageCheck.refusal(ack.copy(handle = handle.copy(fullBytes = -1))).nonEmpty)
    assert(MessageCheck.refusal(ack.copy(handle = handle.copy(inFlightBytes = -1))).nonEmpty)
    assert(MessageCheck.refusal(held.copy(runs = Seq.fill(20000)(run))).nonEmpty)
  }

  test("what is missing, and what is no message, is refused") {
    val missing = Seq[AnyRef](
      null,
      "a text",
      Array[Byte](1),
      ack.copy(query = null),
      ack.copy(run = "another"),
      ack.copy(store = null),
      ack.copy(handle = null),
      ack.copy(handle = handle.copy(ref = null)),
      ack.copy(handle = handle.copy(files = null)),
      ack.copy(handle = handle.copy(files = Seq(null))),
      ack.copy(handle = handle.copy(merged = null)),
      decline.copy(reason = null),
      decline.copy(message = null),
      decline.copy(message = "x" * 2000000),
      held.copy(runs = null),
      held.copy(stores = Seq(null)),
      sums.copy(sums = Seq(null)),
      sums.copy(run = null),
      first.copy(run = null),
      append.copy(bytes = null),
      append.copy(path = null),
      Length(null)
    )
    missing.zipWithIndex.foreach { case (message, i) => assert(MessageCheck.refusal(message).nonEmpty, i) }
  }

  test("messages whose serialized bytes were changed are refused, or are messages that could have been sent") {
    val chance = new Random(11)
    var (unread, refused, passed) = (0, 0, 0)
    for (_ <- 0 until 20000) {
      val bytes = serialized(sound(chance.nextInt(sound.size)))
      for (_ <- 0 to chance.nextInt(3)) bytes(chance.nextInt(bytes.length)) = chance.nextInt().toByte
      // A length that was changed asks for an array of its size: Java reads it before we can.
      Try(deserialized(bytes)).toOption match {
        case None => unread += 1
        case Some(message) if MessageCheck.refusal(message).nonEmpty => refused += 1
        case Some(message: Acknowledgement) =>
          passed += 1
          message.handle.names(message.store).foreach { case file: StoreFile => assertInside(file); case _ => () }
        case Some(_) => passed += 1
      }
    }
    assert(unread > 0 && refused > 0 && passed > 0)
  }

  private def assertInside(file: StoreFile): Unit =
    assert(s"${file.store.folder}/${file.name}".split('/').forall(part => part.nonEmpty && !part.startsWith(".")))

  private def serialized(message: AnyRef): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new ObjectOutputStream(bytes)
    out.writeObject(message)
    out.close()
    bytes.toByteArray
  }

  private def deserialized(bytes: Array[Byte]): AnyRef =
    try new ObjectInputStream(new ByteArrayInputStream(bytes)) {
        override def resolveClass(of: java.io.ObjectStreamClass): Class[_] =
          Class.forName(of.getName, false, classOf[MessageCheckSpec].getClassLoader)
      }.readObject()
    catch { case e: OutOfMemoryError => throw new RuntimeException(e) }
}
