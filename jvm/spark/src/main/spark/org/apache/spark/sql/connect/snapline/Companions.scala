package org.apache.spark.sql.connect.snapline

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.connect.service.{SessionHolder, SparkListenerConnectSessionClosed}

/** The companions of this server, one for each session of a client that has called for it. */
object Companions {
  private final case class Key(user: String, session: String)

  private val byKey = new ConcurrentHashMap[Key, Companion]
  private val byToken = new ConcurrentHashMap[String, Companion]
  private val isListening = new AtomicBoolean

  /** The session's; it is made if there is none. */
  private[snapline] def of(holder: SessionHolder): Companion = {
    listen(holder.session.sparkContext)
    byKey.computeIfAbsent(
      Key(holder.userId, holder.sessionId),
      key => {
        val token = UUID.randomUUID.toString
        // The process looks for it, and waits until it is there.
        val companion = new Companion(holder, token, ended => forget(key, token, ended))
        byToken.put(token, companion)
        companion
      }
    )
  }

  /** That of a process that has just started; null: not yet. */
  def find(token: String): Companion = byToken.get(token)

  private def forget(key: Key, token: String, companion: Companion): Unit = {
    byToken.remove(token)
    byKey.remove(key, companion): Unit
  }

  private def listen(context: SparkContext): Unit = if (isListening.compareAndSet(false, true)) {
    context.addSparkListener(new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case closed: SparkListenerConnectSessionClosed =>
          Option(byKey.get(Key(closed.userId, closed.sessionId))).foreach(_.close())
        case _ =>
      }

      override def onApplicationEnd(event: SparkListenerApplicationEnd): Unit = {
        isListening.set(false)
        byKey.values.asScala.foreach(_.close())
      }
    })
  }
}
