package io.snapline.snapshot.format

import scala.util.matching.Regex

/** One state of one store: the version Spark counts, and the uid of the attempt that made it. */
final case class VersionRef(version: Long, uid: String) {
  def changelogName: String = s"${version}_$uid.${VersionRef.Changelog}"
  def handleName: String = s"${version}_$uid.${VersionRef.Handle}"

  /** Of a merged file, which has the version of its members and a uid of its own. */
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
