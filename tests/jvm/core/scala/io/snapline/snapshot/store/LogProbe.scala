package io.snapline.snapshot.store

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.{LogEvent, LoggerContext}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property

/** What is logged while a test looks. */
object LogProbe {

  def during[A](body: => A): (A, Seq[String]) = {
    val messages = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("probe", null, null, false, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = messages.add(event.getMessage.getFormattedMessage): Unit
    }
    appender.start()
    val root = LogManager.getContext(false).asInstanceOf[LoggerContext].getConfiguration.getRootLogger
    root.addAppender(appender, null, null)
    try {
      val result = body
      (result, messages.asScala.toSeq)
    } finally root.removeAppender("probe")
  }
}
