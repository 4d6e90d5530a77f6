package io.snapline.spark

/** Settings of Spark whose wrong values this line of it refuses itself, before a store sees them. */
object SettingsOfSpark {
  val checked: Set[String] = Set.empty
}
