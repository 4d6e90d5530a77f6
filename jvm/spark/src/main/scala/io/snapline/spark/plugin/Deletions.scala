package io.snapline.spark.plugin

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint.Action

/** What a query's coordinator wants deleted, in its order. One that fails holds up those behind it: they may name files that a `_metadata` which is still there
  * names too. One thread.
  */
private[plugin] final class Deletions(delete: Action.Delete => Unit, where: String) {
  private val log = LoggerFactory.getLogger(classOf[Deletions])
  private val waiting = mutable.Queue.empty[Action.Delete]

  def add(action: Action.Delete): Unit = {
    waiting.enqueue(action)
    run()
  }

  /** Tries again what failed. */
  def run(): Unit = {
    var going = true
    while (going && waiting.nonEmpty) {
      try {
        delete(waiting.head)
        waiting.dequeue(): Unit
      } catch {
        case NonFatal(e) =>
          going = false
          log.warn(
            s"Files of checkpoint ${waiting.head.checkpoint} of $where could not be deleted; ${waiting.size} deletions wait.",
            e
          )
      }
    }
  }
}
