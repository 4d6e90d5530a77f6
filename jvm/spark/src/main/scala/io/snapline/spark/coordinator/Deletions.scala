package io.snapline.spark.coordinator

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint.coordinator.Action

/** What a query's coordinator wants deleted, in its order. One that fails holds up those behind it: they may name files
  * that a `_metadata` which is still there names too.
  *
  * Each belongs to a reading of the checkpoint folder: when it is read anew, what was wanted before is forgotten,
  * because the new count knows nothing of it. Any thread.
  */
private[spark] final class Deletions(delete: Action.Delete => Unit, where: String) {
  private val log = LoggerFactory.getLogger(classOf[Deletions])
  private val waiting = mutable.Queue.empty[Action.Delete]
  @volatile private var readings = 0

  /** The reading of the folder that counts now. Waits for no deletion. */
  def reading: Int = readings

  /** Nothing is deleted while the folder is read, and nothing afterwards that was wanted before. */
  def anew[A](read: => A): A = synchronized {
    forget()
    read
  }

  /** What was wanted until now follows from an older reading. The reader of the folder calls this once more, when it
    * counts what it has read.
    */
  def forget(): Unit = synchronized {
    readings += 1
    waiting.clear()
  }

  /** @param wanted the reading that it follows from */
  def add(action: Action.Delete, wanted: Int): Unit = synchronized {
    if (wanted == readings) {
      waiting.enqueue(action)
      run()
    }
  }

  /** Tries again what failed. */
  def run(): Unit = synchronized {
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
