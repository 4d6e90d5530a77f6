package io.snapline.spark.sink

import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.spark.protocol.DaemonSchedule

/** Connections of an executor that no task uses. It closes those that stay idle. Any thread may call.
  *
  * A connection belongs to the task that took it, until the task gives it back or closes it.
  */
private[sink] final class IdlePool[K, V <: AutoCloseable](name: String, idleMillis: Long) {
  private val idle = mutable.HashMap.empty[K, List[IdlePool.Idle[V]]]
  private var isPlanned = false
  private lazy val schedule = DaemonSchedule(s"snapline-idle-$name")

  /** The one that was given back last; None: there is none. */
  def take(key: K): Option[V] = synchronized {
    idle.get(key).flatMap {
      case first :: rest =>
        if (rest.isEmpty) idle.remove(key) else idle.update(key, rest)
        Some(first.value)
      case Nil => None
    }
  }

  def give(key: K, value: V): Unit = synchronized {
    idle.update(key, IdlePool.Idle(value, System.nanoTime) :: idle.getOrElse(key, Nil))
    lookLater()
  }

  /** One look at a time is planned, however many connections come back. */
  private def lookLater(): Unit = if (!isPlanned) {
    isPlanned = true
    schedule.schedule((() => closeOld()): Runnable, idleMillis + 1, TimeUnit.MILLISECONDS): Unit
  }

  private def closeOld(): Unit = {
    val old = synchronized {
      val limit = System.nanoTime - idleMillis * 1000000
      val (stay, go) = idle.toSeq.flatMap { case (key, all) => all.map(key -> _) }.partition(_._2.since > limit)
      idle.clear()
      isPlanned = false
      if (stay.nonEmpty) lookLater()
      stay.foreach { case (key, one) => idle.update(key, idle.getOrElse(key, Nil) :+ one) }
      go.map(_._2.value)
    }
    old.foreach(IdlePool.close)
  }
}

private[sink] object IdlePool {
  private final case class Idle[V](value: V, since: Long)

  private val log = LoggerFactory.getLogger(classOf[IdlePool[_, _]])

  /** Nothing depends on how it ends. */
  def close(value: AutoCloseable): Unit =
    try value.close()
    catch { case NonFatal(e) => log.debug(s"$value did not close", e) }
}
