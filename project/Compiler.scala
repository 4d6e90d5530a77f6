object Compiler {
  val scala: Seq[String] = Seq(
    "-encoding",
    "utf8",
    "-release",
    "17",
    "-deprecation",
    "-feature",
    "-unchecked",
    "-Xlint",
    "-Wdead-code",
    "-Werror"
  )
  val java: Seq[String] = Seq("-encoding", "utf8", "--release", "17", "-Xlint:all", "-Werror")
}
