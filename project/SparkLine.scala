import sbt.*

/** The Spark release Snapline is built against. It is written in the file SPARK_VERSION and nowhere else. */
object SparkLine {
  val version: String = IO.read(file("SPARK_VERSION")).trim

  /** "4.2": one line of Spark keeps its private interfaces, so one jar serves all of its releases. */
  val line: String = version.split('.').take(2).mkString(".")

  /** What Spark itself puts in for Java 17 (org.apache.spark.launcher.JavaModuleOptions). */
  val javaOptions: Seq[String] = Seq(
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5"
  ).map(opened => s"--add-opens=$opened=ALL-UNNAMED") ++ Seq(
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED"
  )
}
