package io.snapline.snapshot.format

import java.security.SecureRandom
import java.util.concurrent.atomic.AtomicLong
import java.util.UUID

import scala.util.matching.Regex

/** One state of one store: the version Spark counts, and the uid of the attempt that made it. */
final case class VersionRef(version: Long, uid: String) {
  def changelogName: String = s"${version}_$uid.${VersionRef.Changelog}"
  def handleName: String = s"${version}_$uid.${VersionRef.Handle}"

  /** The name of a merged file, which has the version of its members and a uid of its own. */
  def mergedName: String = s"${version}_$uid.${VersionRef.Merged}"
  override def toString: String = s"$version ($uid)"
}

object VersionRef {
  val Changelog = "changelog"
  val Handle = "handle"
  val Merged = "merged"

  /** Only uids of version 7: Spark's own providers name files with those of version 4. */
  private val Name: Regex =
    """(\d{1,18})_([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.(changelog|handle|merged)""".r

  /** The reference and kind a file name stands for. */
  def parse(name: String): Option[(VersionRef, String)] = name match {
    case Name(version, uid, kind) => Some((VersionRef(version.toLong, uid), kind))
    case _ => None
  }

  def isUid(text: String): Boolean = parse(s"0_$text.$Handle").isDefined
}

/** Makes uids: UUIDs of version 7 whose time never runs backwards within what this clock has made or seen
  * (docs/FORMAT.md section 1).
  *
  * Any thread.
  *
  * @param wallClock
  *   milliseconds since 1970
  */
final class UidClock(wallClock: () => Long = () => System.currentTimeMillis()) {
  private val last = new AtomicLong(0L)

  /** Makes sure that later uids sort after this one. */
  def observe(uid: String): Unit = {
    val time = UidClock.millis(uid)
    last.updateAndGet(seen => math.max(seen, time)): Unit
  }

  def next(): String = {
    val time = last.updateAndGet(seen => math.max(seen + 1, wallClock()))
    val random = new Array[Byte](10)
    UidClock.Random.nextBytes(random)
    def bits(from: Int, count: Int): Long = (0 until count).foldLeft(0L)((sum, i) =>
      sum << 8 | (random(from + i) & 0xffL)
    )
    val high = (time & 0xffffffffffffL) << 16 | 0x7000L | (bits(0, 2) & 0x0fffL)
    val low = (bits(2, 8) & 0x3fffffffffffffffL) | 0x8000000000000000L
    new UUID(high, low).toString
  }
}

object UidClock {
  private val Random = new SecureRandom

  /** The logical time of a uid in milliseconds; 0 for a text that is none. */
  def millis(uid: String): Long =
    try java.lang.Long.parseLong(uid.substring(0, 8) + uid.substring(9, 13), 16)
    catch { case _: NumberFormatException | _: StringIndexOutOfBoundsException => 0L }
}
