package io.snapline.spark

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.ArchConfiguration
import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.storage.CheckpointStorage

/** The rooms of the JVM's half, from the bottom up: a class uses its own room and those before it. docs/contributing.md
  * says what each is for.
  */
class RoomsSpec extends AnyFunSuite {
  private val rooms = Seq(
    "io.snapline.error",
    "io.snapline.keygroup",
    "io.snapline.storage",
    "io.snapline.state.timeindex",
    "io.snapline.state",
    "io.snapline.state.rowtable",
    "io.snapline.state.heap",
    "io.snapline.state.rocksdb",
    "io.snapline.snapshot.format",
    "io.snapline.snapshot.merged",
    "io.snapline.snapshot.upload",
    "io.snapline.snapshot.store",
    "io.snapline.checkpoint",
    "io.snapline.checkpoint.history",
    "io.snapline.checkpoint.coordinator",
    "org.apache.spark.sql.execution.streaming.state.snapline",
    "io.snapline.spark.settings",
    "io.snapline.spark.protocol",
    "io.snapline.spark.provider",
    "io.snapline.spark.operator.frames",
    "io.snapline.spark.operator.state",
    "io.snapline.spark.operator.channel",
    "io.snapline.spark.operator.task",
    "org.apache.spark.sql.execution.python.snapline",
    "org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.snapline",
    "org.apache.spark.sql.execution.streaming.snapline",
    "io.snapline.spark.coordinator",
    "org.apache.spark.sql.connect.snapline",
    "io.snapline.spark.savepoint",
    "io.snapline.spark.sink",
    "io.snapline.spark.sink.jdbc",
    "io.snapline.spark.sink.kafka",
    "org.apache.spark.sql.execution.streaming.snapline.rules",
    "io.snapline.spark.ui.page",
    "org.apache.spark.ui.snapline",
    "io.snapline.spark.ui",
    "org.apache.spark.ui.snapline.history",
    "org.apache.spark.status.api.v1.snapline",
    "io.snapline.spark.plugin",
    "io.snapline.spark"
  )

  private lazy val classes: JavaClasses = {
    ArchConfiguration.get().setResolveMissingDependenciesFromClassPath(false)
    val folders = Seq(classOf[CheckpointStorage], classOf[SnaplineExtension])
      .map(_.getProtectionDomain.getCodeSource.getLocation)
    new ClassFileImporter().importUrls(folders.asJava)
  }

  test("every class is in a room of the list, and every room of the list has one") {
    val found = classes.asScala.map(_.getPackageName).toSet
    assert(found.size > 30)
    assert(found.diff(rooms.toSet) == Set.empty, "packages that the list does not have")
    assert(rooms.toSet.diff(found) == Set.empty, "rooms that are empty")
  }

  rooms.zipWithIndex.init.foreach { case (room, at) =>
    test(s"$room uses no room above it") {
      noClasses().that().resideInAPackage(room)
        .should().dependOnClassesThat().resideInAnyPackage(rooms.drop(at + 1): _*)
        .check(classes)
    }
  }
}
