package io.snapline.spark.operator.frames

import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._
import org.scalatest.funsuite.AnyFunSuite

class WorkerFrameSpec extends AnyFunSuite {

  private def bytes(builder: FrameBuilder, meta: JObject): Array[Byte] = builder.build(meta).flatMap { buffer =>
    val copy = new Array[Byte](buffer.remaining())
    buffer.get(copy)
    copy
  }

  test("a frame that was built is read back: kind, meta, and parts at multiples of eight") {
    for (
      sizes <- Seq(Seq.empty[Int], Seq(0), Seq(1, 8, 70000), Seq(3, 0, 5));
      meta <- Seq(JObject(), ("a" -> -5) ~ ("b" -> true))
    ) {
      val builder = new FrameBuilder(WorkerFrame.Rows)
      val parts = sizes.map(size => Array.tabulate(size)(_.toByte))
      parts.zipWithIndex.foreach { case (part, i) => builder.part(100 + i)(_.write(part)) }
      val all = bytes(builder, meta)
      val frame = WorkerFrame.read(all.drop(4))
      assert(java.nio.ByteBuffer.wrap(all).getInt == all.length - 4)
      assert(frame.kind == WorkerFrame.Rows && frame.parts == sizes.size)
      parts.indices.foreach { i =>
        assert(frame.id(i) == 100 + i && frame.offset(i) % 8 == 0)
        assert(frame.bytes.slice(frame.offset(i), frame.offset(i) + frame.length(i)).sameElements(parts(i)))
      }
      if (meta.obj.nonEmpty) assert(frame.long("a") == -5 && frame.flag("b") && !frame.flag("c"))
    }
  }

  test("what is missing from the meta is named") {
    val frame = WorkerFrame.read(bytes(new FrameBuilder(WorkerFrame.Done), "held" -> "much").drop(4))
    assert(intercept[Exception](frame.long("held")).getMessage.contains("'held'"))
    assert(frame.text("held") == "much")
    assert(frame.numbers("metrics").isEmpty)
  }
}
