package org.apache.spark.sql.connect.snapline

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{InternalError, WrongSparkVersion}
import io.snapline.spark.settings.SparkLineCheck

class FunctionMessageSpec extends AnyFunSuite {

  /** As the package writes it. */
  private def value(version: String, call: String, more: String, parts: String*): Array[Byte] = {
    val header = s"""{"version": "$version", "call": "$call", "keys": ["k"], "order": [], "columns": ["a", "b"],
      "output": "{}", "spec": "{\\"states\\": []}", "python": "3.11"$more}""".getBytes(UTF_8)
    val bytes = ByteBuffer.allocate(4 + header.length + parts.map(_.length).sum)
    bytes.putInt(header.length).put(header)
    parts.foreach(part => bytes.put(part.getBytes(UTF_8)))
    bytes.array
  }

  private def texts(parts: Seq[Array[Byte]]): Seq[String] = parts.map(new String(_, UTF_8))

  test("each part has its place") {
    val more = """, "initial_spec": "{}", "inputs": [4, 0], "functions": [2, 3]"""
    val message = FunctionMessage.parse(value(SparkLineCheck.version, "begin", more, "rows", "", "of", "its"))
    assert(message.call == "begin" && message.keys == Seq("k") && message.order.isEmpty)
    assert(message.columns == Seq("a", "b") && message.spec == """{"states": []}""" && message.initialSpec == "{}")
    assert(texts(message.inputs) == Seq("rows", "") && texts(message.functions) == Seq("of", "its"))
  }

  test("another version's is refused, whatever else is in it") {
    val error = intercept[WrongSparkVersion](FunctionMessage.parse(value("0.0.1", "plan", "")))
    assert(error.found.contains("The client has Snapline 0.0.1"))
  }

  test("nonsense is none") {
    for (bytes <- Seq(Array[Byte](0, 0, 0, 2, '{', '!'), Array[Byte](0, 0, 1, 0), Array.emptyByteArray))
      intercept[InternalError](FunctionMessage.parse(bytes))
  }
}
