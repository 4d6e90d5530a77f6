package io.snapline

/** Which of many cases a test takes: few in `./test`, more in `./test whole`, all in `./test all`. */
object Cases {

  /** `SNAPLINE_ALL_CASES=1` is in the environment. */
  val all: Boolean = sys.env.contains("SNAPLINE_ALL_CASES")

  /** `SNAPLINE_WHOLE=1` is. */
  val whole: Boolean = all || sys.env.contains("SNAPLINE_WHOLE")

  def some[A](cases: Seq[A])(isTaken: A => Boolean): Seq[A] = if (all) cases else cases.filter(isTaken)
}
