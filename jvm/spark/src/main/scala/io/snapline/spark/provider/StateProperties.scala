package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state.StateStoreConf
import org.apache.spark.sql.execution.streaming.state.snapline.RowChecksums

import io.snapline.error.IncompatibleState
import io.snapline.snapshot.format.Origin

/** The properties that a checkpoint's state keeps all its life. They are written into every file, and compared with the
  * settings.
  *
  * @param backend
  *   the backend's name in the files
  */
private[spark] final class StateProperties(conf: StateStoreConf, maxParallelism: Int, backend: String) {
  import StateProperties._

  val written: Map[String, String] = Map(
    Encoding -> conf.stateStoreEncodingFormat,
    RowChecksum -> RowChecksums.areOn(conf).toString,
    MaxParallelism -> maxParallelism.toString,
    Backend -> backend
  )

  /** Bytes written under another setting would be read wrongly. */
  def check(origin: Origin, location: String): Unit = StateProperties.check(origin, location, written)

  /** The same before Spark has read of its logs which of its own settings a query goes on with. */
  def checkOwn(origin: Origin, location: String): Unit =
    StateProperties.check(origin, location, written.filter(property => own(property._1)))
}

private[spark] object StateProperties {
  private val Encoding = "encoding"
  private val RowChecksum = "rowChecksum"
  private val MaxParallelism = "maxParallelism"
  val Backend = "backend"
  private val own = Set(MaxParallelism, Backend)

  /** Files that are copied as they are have the number of key groups that they were written with. */
  def checkKeyGroups(origin: Origin, maxParallelism: Int, location: String): Unit =
    check(origin, location, Map(MaxParallelism -> maxParallelism.toString))

  private def check(origin: Origin, location: String, properties: Map[String, String]): Unit =
    properties.foreach { case (name, wanted) =>
      origin.properties.get(name).filter(_ != wanted).foreach { found =>
        throw new IncompatibleState(
          s"The state in $location was written with $name = $found; the query has $wanted.",
          s"set ${setting(name)} back to $found, or start with a new checkpoint."
        )
      }
    }

  private def setting(property: String): String = property match {
    case Encoding => "spark.sql.streaming.stateStore.encodingFormat"
    case RowChecksum => "spark.sql.streaming.stateStore.rowChecksum.enabled"
    case Backend => BackendSettings.Type
    case _ => ProviderSettings.MaxParallelism
  }
}
