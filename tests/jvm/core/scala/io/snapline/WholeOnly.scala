package io.snapline

import org.scalatest.funsuite.AnyFunSuite

/** A suite that `./test whole` runs, and `./test` does not: it takes a minute or so, and the suites beside it see most
  * of what it would.
  */
trait WholeOnly extends AnyFunSuite {
  override def tags: Map[String, Set[String]] = testNames.map(_ -> Set("WholeOnly")).toMap
}
