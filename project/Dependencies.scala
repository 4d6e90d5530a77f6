import sbt.*

/** Everything here except the test libraries is a jar that Spark ships, or a connector of Spark needs; the versions are
  * those of its distribution.
  */
object Dependencies {
  val core: Seq[ModuleID] = Seq(
    "org.rocksdb" % "rocksdbjni" % "9.8.4",
    "org.apache.hadoop" % "hadoop-client-api" % "3.5.0",
    "org.apache.hadoop" % "hadoop-client-runtime" % "3.5.0",
    "at.yawk.lz4" % "lz4-java" % "1.11.0",
    "com.fasterxml.jackson.core" % "jackson-databind" % "2.21.2",
    "org.slf4j" % "slf4j-api" % "2.0.17"
  ).map(_ % Provided)

  val test: Seq[ModuleID] = Seq(
    "org.scalatest" %% "scalatest" % "3.2.19",
    "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0"
  ).map(_ % Test)

  /** Comes with Spark's Kafka connector, which every user of the Kafka sink has. */
  val kafka: Seq[ModuleID] = Seq("org.apache.kafka" % "kafka-clients" % "3.9.2" % Provided)

  val sparkTest: Seq[ModuleID] =
    Seq("com.tngtech.archunit" % "archunit" % "1.4.1", "org.xerial" % "sqlite-jdbc" % "3.50.3.0").map(_ % Test)

  val coreTest: Seq[ModuleID] =
    Seq("log4j-slf4j2-impl", "log4j-core").map("org.apache.logging.log4j" % _ % "2.25.4" % Test)

  /** Spark's own suites, and the harness they stand on. */
  private val sparkSuites: Seq[ModuleID] =
    Seq("spark-sql", "spark-sql-api", "spark-catalyst", "spark-core", "spark-common-utils", "spark-tags")
      .map(name => ("org.apache.spark" %% name % SparkLine.suites).classifier("tests").intransitive())

  /** What Spark's suites need to run; the versions are those of Spark's pom. */
  val integration: Seq[ModuleID] = sparkSuites ++ test.map(_.withConfigurations(None)) ++ Seq(
    "org.apache.spark" %% "spark-sql" % SparkLine.suites,
    ("org.apache.spark" %% "spark-network-common" % SparkLine.suites).classifier("tests").intransitive(),
    "org.scalatestplus" %% "mockito-5-18" % "3.2.19.0",
    "org.mockito" % "mockito-core" % "5.23.0",
    "net.bytebuddy" % "byte-buddy" % "1.18.4",
    "net.bytebuddy" % "byte-buddy-agent" % "1.18.4"
  )

  /** For bench/maps. */
  val jmh: Seq[ModuleID] = Seq("jmh-core", "jmh-generator-annprocess").map("org.openjdk.jmh" % _ % "1.37")
}
