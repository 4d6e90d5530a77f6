package io.snapline

/** Which of many cases a test takes: some by default, all with `SNAPLINE_ALL_CASES=1` in the environment. */
object Cases {
  val all: Boolean = sys.env.contains("SNAPLINE_ALL_CASES")

  def some[A](cases: Seq[A])(isTaken: A => Boolean): Seq[A] = if (all) cases else cases.filter(isTaken)
}
