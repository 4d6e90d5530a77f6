package io.snapline.state.heap

import java.lang.management.ManagementFactory

import scala.util.Try

import com.sun.management.HotSpotDiagnosticMXBean

/** The size of arrays on this JVM's heap: header, elements, padding. */
private[heap] object HeapLayout {
  private def option(name: String): Option[String] =
    Try(ManagementFactory.getPlatformMXBean(classOf[HotSpotDiagnosticMXBean]).getVMOption(name).getValue).toOption

  val ReferenceBytes: Int =
    if (option("UseCompressedOops").fold(Runtime.getRuntime.maxMemory < (32L << 30))(_.toBoolean)) 4 else 8

  /** G1 gives an object of half a region and more whole regions. */
  private val region: Long =
    if (option("UseG1GC").contains("true")) option("G1HeapRegionSize").fold(Long.MaxValue)(_.toLong) else Long.MaxValue

  def bytes(length: Int): Long = padded(16L + length)

  def ints(length: Int): Long = padded(16L + 4L * length)

  def references(length: Int): Long = padded(16L + ReferenceBytes.toLong * length)

  /** An object with so many references and so many bytes besides. */
  def instance(references: Int, rest: Int): Long = padded(12L + ReferenceBytes.toLong * references + rest)

  private def padded(size: Long): Long =
    if (size < region / 2) (size + 7) & ~7L else (size + region - 1) / region * region
}
