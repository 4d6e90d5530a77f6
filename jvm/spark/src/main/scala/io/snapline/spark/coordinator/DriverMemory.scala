package io.snapline.spark.coordinator

import java.util.Arrays
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import io.snapline.spark.protocol.DriverMessage
import io.snapline.spark.protocol.DriverMessage._

/** Files in the driver's memory. Owned by the driver plugin and gone with it; stores delete theirs as they would in a
  * file system. Any thread.
  */
private[spark] final class DriverMemory(now: () => Long = () => System.currentTimeMillis()) {
  private final class Whole(val bytes: Array[Byte], val writer: String, val modified: Long)
  private final class Begun(var bytes: Array[Byte], var length: Int)

  private val files = new ConcurrentHashMap[String, Whole]
  private val begun = new ConcurrentHashMap[(String, String), Begun]
  private val total = new AtomicLong

  /** Bytes of whole files. */
  def used: Long = total.get

  def count: Int = files.size

  def answer(message: DriverMessage): AnyRef = message match {
    case Append(path, writer, position, bytes) => Boolean.box(append(path, writer, position, bytes))
    case Finish(path, writer, length) => finish(path, writer, length)
    case Abandon(path, writer) =>
      begun.remove(path -> writer)
      // Its answer may have been lost when the file was whole already.
      Boolean.box(Option(files.get(path)).exists(_.writer == writer) && delete(path))
    case Length(path) => Long.box(Option(files.get(path)).fold(-1L)(_.bytes.length.toLong))
    case Read(path, position, count) =>
      Option(files.get(path)).filter(_.bytes.length - count >= position).map(file =>
        Arrays.copyOfRange(file.bytes, position, position + count)
      ).orNull
    case List(folder) => list(folder)
    case Delete(path) => Boolean.box(delete(path))
  }

  def clear(): Unit = {
    files.clear()
    begun.clear()
    total.set(0)
  }

  private def append(path: String, writer: String, position: Int, bytes: Array[Byte]): Boolean = {
    val file = begun.computeIfAbsent(path -> writer, _ => new Begun(new Array[Byte](bytes.length), 0))
    file.synchronized {
      // Before the end: it was here already.
      if (position > file.length) false
      else {
        val end = position + bytes.length
        if (end > file.bytes.length) file.bytes = Arrays.copyOf(file.bytes, math.max(end, file.bytes.length * 2))
        System.arraycopy(bytes, 0, file.bytes, position, bytes.length)
        file.length = math.max(file.length, end)
        true
      }
    }
  }

  private def finish(path: String, writer: String, length: Int): AnyRef = {
    val file = begun.remove(path -> writer)
    val content = if (file == null) new Array[Byte](0) else Arrays.copyOf(file.bytes, file.length)
    val there = files.get(path)
    if (there != null) {
      // This writer's: the first message made it whole.
      if (there.writer == writer) java.lang.Boolean.TRUE else s"$path exists already"
    } else if (content.length != length) java.lang.Boolean.FALSE
    else if (files.putIfAbsent(path, new Whole(content, writer, now())) != null) s"$path exists already"
    else {
      total.addAndGet(length.toLong)
      java.lang.Boolean.TRUE
    }
  }

  private def delete(path: String): Boolean = {
    val gone = files.remove(path)
    if (gone != null) total.addAndGet(-gone.bytes.length.toLong): Unit
    gone != null
  }

  private def list(folder: String): Array[AnyRef] = {
    val prefix = s"$folder/"
    val found = files.asScala.iterator.filter { case (path, _) =>
      path.startsWith(prefix) && path.indexOf('/', prefix.length) < 0
    }.toArray
    Array(
      found.map(_._1.substring(prefix.length)),
      found.map(_._2.bytes.length.toLong),
      found.map(_._2.modified)
    )
  }
}
