package io.snapline.snapshot.store

import scala.annotation.tailrec

/** Waits for changelogs that another executor copies to storage behind its batch. */
private[snapshot] object FolderWait {

  /** A changelog of one batch is there by then, or its executor is gone. */
  val Nanos = 2000000000L
  val StepMs = 50L

  /** @param deadline
    *   System.nanoTime
    */
  @tailrec def until[A](deadline: Long)(look: => Option[A]): Option[A] = look match {
    case None if System.nanoTime() < deadline =>
      Thread.sleep(StepMs)
      until(deadline)(look)
    case found => found
  }
}
