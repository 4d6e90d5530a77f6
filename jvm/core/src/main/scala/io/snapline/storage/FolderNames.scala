package io.snapline.storage

import java.io.FileNotFoundException

import org.apache.hadoop.fs.{ChecksumFileSystem, FileStatus, FileSystem, Path}

/** The names in a folder, for Python, which waits for the JVM once in each call: all of them in one string, with a zero
  * between two. Null: there is no such folder.
  */
object FolderNames {
  private val Separator = "\u0000"

  def list(files: FileSystem, folder: Path): String = ifThere(files.listStatus(folder).map(_.getPath.getName))

  /** Files at any depth, relative to the folder. */
  def walk(files: FileSystem, folder: Path): String = ifThere(below(files, folder).map(_._1).toArray)

  /** The same, with the length in bytes behind each name. */
  def walkWithLengths(files: FileSystem, folder: Path): String = ifThere {
    below(files, folder).flatMap { case (name, status) => Seq(name, status.getLen.toString) }.toArray
  }

  private def below(files: FileSystem, folder: Path): Iterator[(String, FileStatus)] = {
    val prefix = files.makeQualified(folder).toUri.getPath.length + 1
    val found = if (files.isInstanceOf[ChecksumFileSystem]) byFolder(files, folder) else atOnce(files, folder)
    found.map(status => status.getPath.toUri.getPath.substring(prefix) -> status)
  }

  /** On an object store this is one request for a thousand files, whatever the folders. */
  private def atOnce(files: FileSystem, folder: Path): Iterator[FileStatus] = {
    val listing = files.listFiles(folder, true)
    Iterator.continually(listing).takeWhile(_.hasNext).map(_.next())
  }

  /** The local file system would start a process for each file, to ask for its permissions. */
  private def byFolder(files: FileSystem, folder: Path): Iterator[FileStatus] =
    files.listStatus(folder).iterator.flatMap { status =>
      if (status.isDirectory) byFolder(files, status.getPath) else Iterator(status)
    }

  private def ifThere(names: => Array[String]): String =
    try names.mkString(Separator)
    catch { case _: FileNotFoundException => null }
}
