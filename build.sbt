ThisBuild / organization := "io.snapline"
ThisBuild / version := IO.read(file("VERSION")).trim
ThisBuild / scalaVersion := "2.13.18"

// The tests of the two rooms, each in a JVM of its own, run side by side: neither keeps two cores busy.
Global / concurrentRestrictions := Seq(
  Tags.limitAll(math.max(2, java.lang.Runtime.getRuntime.availableProcessors)),
  Tags.limit(Tags.ForkedTestGroup, 2),
  Tags.exclusiveGroup(Tags.Clean)
)

// Only the jar that people get is handed out: scripts/release puts it into a folder that is laid out as Maven wants it.
ThisBuild / publish / skip := true
ThisBuild / publishTo := Some(Resolver.file("release", file("build/release/maven")))

/** Tests stand in tests/jvm, which mirrors jvm. They run one after another, in a JVM and a folder of their own. */
def room(name: String): Seq[Setting[?]] = Seq(
  scalacOptions ++= Compiler.scala,
  javacOptions ++= Compiler.java,
  libraryDependencies ++= Dependencies.test,
  Test / unmanagedSourceDirectories := Seq(file("tests/jvm").getAbsoluteFile / name / "scala"),
  Test / unmanagedResourceDirectories := Seq(file("tests/jvm").getAbsoluteFile / name / "resources"),
  Test / fork := true,
  Test / parallelExecution := false,
  // Most of the code of a test runs a few times: compiling it a second time costs more than it brings.
  Test / javaOptions ++= SparkLine.javaOptions ++ Seq(
    "-Xmx3g",
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=256m",
    "-Duser.timezone=UTC"
  ),
  Test / forkOptions := {
    val scratch = target.value / "tests"
    IO.createDirectory(scratch)
    (Test / forkOptions).value.withWorkingDirectory(scratch)
  },
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
  // Of all tests; one that is named runs always.
  Test / test / testOptions ++= {
    if (sys.env.contains("SNAPLINE_WHOLE")) Nil else Seq(Tests.Argument(TestFrameworks.ScalaTest, "-l", "WholeOnly"))
  }
)

lazy val core = project
  .in(file("jvm/core"))
  .settings(room("core"))
  .settings(
    name := "snapline-core",
    libraryDependencies ++= Dependencies.core ++ Dependencies.coreTest,
    Compile / resourceGenerators += Def.task {
      val properties = (Compile / resourceManaged).value / "snapline" / "version.properties"
      IO.write(
        properties,
        s"version=${version.value}\nspark.line=${SparkLine.line}\nspark.lines=${SparkLine.lines.mkString(" ")}\n"
      )
      Seq(properties)
    }
  )

lazy val spark = project
  .in(file("jvm/spark"))
  .dependsOn(core % "compile->compile;test->test")
  .settings(room("spark"))
  .settings(
    name := "snapline-spark",
    libraryDependencies ++= Dependencies.kafka ++ Dependencies.sparkTest,
    // Classes compiled for one release line of Spark are of no use to another.
    target := baseDirectory.value / "target" / SparkLine.line,
    Compile / resourceGenerators += Def.task {
      val settings = (Compile / resourceManaged).value / "snapline" / "settings.json"
      IO.copyFile(file("python/src/snapline/settings/table.json"), settings)
      Seq(settings)
    },
    Compile / unmanagedJars := Attributed.blankSeq(SparkLine.jars),
    Compile / unmanagedSourceDirectories ++=
      SparkLine.folders((Compile / sourceDirectory).value),
    Test / unmanagedSourceDirectories ++= SparkLine.folders(file("tests/jvm/spark").getAbsoluteFile)
  )

lazy val classpathFile = taskKey[File]("Writes the classpath to a file, one entry a line.")

/** Spark's own test suites, to be run on our jar by integration/run. Knows the provider by name only, and stays out of
  * the jar.
  */
lazy val integration = project
  .in(file("integration/spark-suites"))
  .settings(
    scalacOptions ++= Compiler.scala,
    javacOptions ++= Compiler.java ++ Seq("-Xlint:-classfile", "-proc:none"), // Byte Buddy has annotations of others
    libraryDependencies ++= Dependencies.integration,
    Compile / scalaSource := baseDirectory.value / "src",
    Compile / javaSource := baseDirectory.value / "src",
    target := file("target/integration").getAbsoluteFile,
    classpathFile := {
      val file = target.value / "classpath"
      IO.writeLines(file, (Compile / fullClasspath).value.map(_.data.getAbsolutePath))
      file
    }
  )

/** JMH on the heap's maps, run by bench/maps/run. Stays out of the jar. */
lazy val maps = project
  .in(file("bench/maps"))
  .dependsOn(core)
  .settings(
    scalacOptions ++= Compiler.scala,
    javacOptions ++= Compiler.java ++ Seq("-Xlint:-processing", "-Xlint:-exports"),
    libraryDependencies ++= Dependencies.core.map(_.withConfigurations(None)) ++ Dependencies.jmh,
    Compile / javaSource := baseDirectory.value / "src",
    target := file("target/maps").getAbsoluteFile,
    Compile / run / mainClass := Some("org.openjdk.jmh.Main"),
    run / fork := true,
    run / javaOptions ++= Seq("-Xmx3g")
  )

lazy val pythonJar = taskKey[File]("Puts the jar where the Python package looks for it.")

/** The jar people get: core and spark in one, and nothing of anyone else's, because Spark ships everything they need.
  */
lazy val snapline = project
  .in(file("."))
  .aggregate(core, spark)
  .settings(
    name := s"snapline-spark-${SparkLine.line}",
    // As the file is named: sbt would write 4-2.
    moduleName := name.value,
    publish / skip := false,
    description := s"Flink's state and checkpoint model for Spark Structured Streaming, for Spark ${SparkLine.line}",
    licenses := Seq(License.Apache2),
    // The Scala library is Spark's too.
    autoScalaLibrary := false,
    pomIncludeRepository := (_ => false),
    Compile / packageSrc / mappings :=
      (core / Compile / packageSrc / mappings).value ++ (spark / Compile / packageSrc / mappings).value,
    Compile / doc / sources := (core / Compile / doc / sources).value ++ (spark / Compile / doc / sources).value,
    Compile / doc / dependencyClasspath := (spark / Compile / doc / dependencyClasspath).value,
    // Links of comments lead to private members and to Spark's own, which have no pages here.
    Compile / doc / scalacOptions := Seq("-encoding", "utf8", "-no-link-warnings"),
    Compile / packageBin / mappings :=
      (core / Compile / packageBin / mappings).value ++
        (spark / Compile / packageBin / mappings).value :+
        (file("LICENSE").getAbsoluteFile -> "META-INF/LICENSE"),
    Compile / packageBin / artifactPath :=
      target.value / s"${name.value}_${scalaBinaryVersion.value}-${version.value}.jar",
    Compile / packageBin / packageOptions += Package.ManifestAttributes(
      "Implementation-Version" -> version.value,
      "Snapline-Spark-Line" -> SparkLine.line
    ),
    pythonJar := {
      val jar = (Compile / packageBin).value
      val copy = file("python/src/snapline/jars").getAbsoluteFile / jar.getName
      // Those of the other lines stay.
      IO.delete((copy.getParentFile ** s"snapline-spark-${SparkLine.line}_*.jar").get())
      IO.copyFile(jar, copy)
      sys.env.get("JAR_INPUTS").foreach(IO.write(copy.getParentFile / s"inputs-${SparkLine.line}", _))
      copy
    }
  )

/** What benches compile when they run, for the JVM under them. Compiled with the tests too, which tells when it is
  * behind the rest. No bench runs on 4.1, where a store has fewer operations.
  */
lazy val bench = project
  .in(file("bench"))
  .dependsOn(spark)
  .settings(
    scalacOptions ++= Compiler.scala,
    Compile / unmanagedJars := Attributed.blankSeq(SparkLine.jars),
    Compile / unmanagedSourceDirectories :=
      (if (SparkLine.since("4.2")) Seq("null-provider", "checkpoints-tab", "real-time", "timeouts") else Nil)
        .map(baseDirectory.value / _),
    target := file("target/bench").getAbsoluteFile
  )
