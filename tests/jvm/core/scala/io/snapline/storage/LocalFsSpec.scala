package io.snapline.storage

import java.io.File
import java.net.URI
import java.nio.file.{FileSystemException, Files, LinkOption, Paths}
import java.nio.file.attribute.PosixFilePermissions
import java.util.EnumSet

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{CreateFlag, FileContext, LocalFileSystem, Options, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Shell
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.snapline.state.LocalFolder

/** Held against what Hadoop makes of the same calls. */
class LocalFsSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private final class Act(name: String, body: (FileContext, String => Path) => Any) {
    override def toString: String = name

    def on(files: FileContext, base: Path): String = Try(body(files, new Path(base, _))) match {
      case Success(found) => String.valueOf(found)
      // A process knows no exceptions: all that it says is that it failed.
      case Failure(_: Shell.ExitCodeException | _: FileSystemException) => "failed"
      case Failure(e) => e.getClass.getName
    }
  }

  private def act(name: String)(body: (FileContext, String => Path) => Any) = new Act(name, body)

  private def settings(umask: String): Configuration = {
    val configuration = new Configuration
    configuration.set("fs.permissions.umask-mode", umask)
    configuration
  }

  private def ours(umask: String): FileContext = {
    val configuration = settings(umask)
    configuration.set("fs.AbstractFileSystem.file.impl", classOf[LocalFs].getName)
    val context = FileContext.getLocalFSFileContext(configuration)
    assert(context.getDefaultFileSystem.getClass == classOf[LocalFs])
    context
  }

  private def withFolder[A](body: File => A): A = {
    val root = Files.createTempDirectory("snapline-files").toFile
    try body(root)
    finally LocalFolder.delete(root)
  }

  /** Names, kinds, permissions and contents of all that is there, checksum files of Hadoop's among it. */
  private def tree(root: File): Seq[(String, String, Seq[Byte])] = {
    val paths = Files.walk(root.toPath)
    try paths.iterator.asScala.map { path =>
        val kind = if (Files.isSymbolicLink(path)) "link" else if (Files.isDirectory(path)) "folder" else "file"
        val permissions = PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS))
        val bytes = if (kind == "file") Files.readAllBytes(path).toSeq else Nil
        (root.toPath.relativize(path).toString, s"$kind $permissions", bytes)
      }.toSeq.sortBy(_._1)
    finally paths.close()
  }

  private val names = Gen.oneOf("a", "b", "c d", "x/a", "x/b", "x/y/a", "x", "x/y", "link")

  private val acts: Gen[Act] = Gen.oneOf(
    Gen.zip(names, Gen.oneOf(true, false), Gen.choose(0, 700)).map { case (name, overwrites, length) =>
      val flags = if (overwrites) EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE) else EnumSet.of(CreateFlag.CREATE)
      act(s"create $name ($overwrites)") { (files, at) =>
        val out = files.create(at(name), flags, Options.CreateOpts.createParent())
        try out.write(new Array[Byte](length))
        finally out.close()
      }
    },
    Gen.zip(names, names, Gen.oneOf(true, false)).map { case (from, to, overwrites) =>
      val option = if (overwrites) Options.Rename.OVERWRITE else Options.Rename.NONE
      act(s"rename $from $to ($overwrites)")((files, at) => files.rename(at(from), at(to), option))
    },
    names.map(name =>
      act(s"mkdir $name")((files, at) => files.mkdir(at(name), FsPermission.getDirDefault, true))
    ),
    names.map(name => act(s"delete $name")((files, at) => files.delete(at(name), true))),
    Gen.zip(names, Gen.oneOf("rw-r-----", "rwxr-x--x", "rwxrwxrwt")).map { case (name, permission) =>
      act(s"chmod $name $permission")((files, at) =>
        files.setPermission(at(name), FsPermission.valueOf(s"-$permission"))
      )
    },
    names.map(name =>
      act(s"stat $name") { (files, at) =>
        val status = files.getFileLinkStatus(at(name))
        (status.isFile, status.isDirectory, status.isSymlink, status.getLen, status.getPermission)
      }
    ),
    names.map(name =>
      act(s"read $name") { (files, at) =>
        val in = files.open(at(name))
        try in.readAllBytes().toSeq
        finally in.close()
      }
    )
  )

  test("any calls, in any order, come to what they come to with Hadoop's own") {
    forAll(Gen.choose(1, 12).flatMap(Gen.listOfN(_, acts)), Gen.oneOf(true, false), minSuccessful(60)) {
      (acts, isOpen) =>
        val umask = if (isOpen) "022" else "077"
        withFolder { root =>
          val both = Seq(FileContext.getLocalFSFileContext(settings(umask)) -> "hadoop", ours(umask) -> "ours").map {
            case (files, name) =>
              val folder = new File(root, name)
              folder.mkdir()
              Files.createSymbolicLink(folder.toPath.resolve("link"), Paths.get("x"))
              val base = new Path(folder.toURI)
              (acts.map(_.on(files, base)), tree(folder))
          }
          assert(both(0) == both(1))
        }
    }
  }

  test("a file gets its checksum and its permissions") {
    withFolder { root =>
      val path = new Path(root.toURI.toString, "x/a")
      HadoopFileSystem.of(path, settings("027")).create(path, false).close()
      val found = tree(root).map { case (name, kind, _) => name -> kind }
      assert(found.drop(1) == Seq("x" -> "folder rwxr-x---", "x/.a.crc" -> "file rw-r-----", "x/a" -> "file rw-r-----"))
    }
  }

  test("a path's file system is Hadoop's, but for the one of local files") {
    val configuration = settings("022")
    val path = new Path("file:///tmp/x")
    assert(HadoopFileSystem.rawOf(path, configuration).getClass == classOf[RawLocalFiles])
    HadoopFileSystem.of(path, configuration) match {
      case local: LocalFileSystem => assert(local.getRaw.getClass == classOf[RawLocalFiles])
      case other => fail(s"$other")
    }
    FullDiskFileSystem.in(configuration)
    assert(HadoopFileSystem.of(path, configuration).getClass == classOf[FullDiskFileSystem])
    assert(HadoopFileSystem.rawOf(path, configuration).getClass != classOf[RawLocalFiles])
    assert(HadoopFileSystem.of(path, configuration).getUri == URI.create("file:///"))
  }
}
