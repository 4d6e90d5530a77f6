package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state.{StateStoreProvider, SupportsFineGrainedReplay}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.SnaplineStateStoreProvider

/** On a release line where the provider is a subclass of Spark's RocksDB one, nothing of that class may run. */
class ProviderOverridesSpec extends AnyFunSuite {

  private val theirs = Class.forName("org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")

  /** Built on the other methods, or on fields of the trait: those of Spark's class only call the trait's. */
  private val ofTheTraits = Set(
    "replayReadStateFromSnapshot",
    "setUnloaded",
    "unloaded",
    "unloaded_$eq",
    "maintenanceLock"
  )

  test("no method of a provider is inherited from Spark's RocksDB provider") {
    val wanted = for {
      of <- Seq(classOf[StateStoreProvider], classOf[SupportsFineGrainedReplay])
      method <- of.getMethods.toSeq if !java.lang.reflect.Modifier.isStatic(method.getModifiers)
    } yield classOf[SnaplineStateStoreProvider].getMethod(method.getName, method.getParameterTypes: _*)
    assert(wanted.map(_.getName).toSet.size > 10)
    val inherited = wanted.filter(_.getDeclaringClass == theirs).map(_.getName).toSet
      .filterNot(name => name.contains("$default$") || name.contains("_setter_"))
    assert(inherited.diff(ofTheTraits) == Set.empty)
  }
}
