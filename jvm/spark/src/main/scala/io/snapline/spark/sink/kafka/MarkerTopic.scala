package io.snapline.spark.sink.kafka

import java.util.Optional
import java.util.concurrent.ExecutionException

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, NewTopic}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors._

import io.snapline.error.{InvalidConfiguration, StorageFailure}

/** The compacted topic with the markers of all sinks that use it. On the driver; docs/notes/020-exactly-once.md. */
private[kafka] final class MarkerTopic(options: KafkaOptions, admin: Admin) {
  private val name = options.markers

  /** Makes it if it is not there, and says how many partitions it has. */
  def ready(): Int = described().getOrElse {
    make()
    val deadline = System.nanoTime + MarkerTopic.MadeWithinNanos
    Iterator.continually { Thread.sleep(MarkerTopic.LookEveryMs); described() }
      .find(found => found.isDefined || System.nanoTime > deadline).flatten
      .getOrElse(throw new StorageFailure(s"The topic $name was made and is not there.", "look at the broker's log."))
  }

  private def described(): Option[Int] =
    try {
      val found = answer(admin.describeTopics(java.util.List.of(name)).allTopicNames().get()).get(name)
      checkCompacted()
      Some(found.partitions.size)
    } catch { case _: UnknownTopicOrPartitionException => None }

  /** Markers must not expire: a batch would be written again. */
  private def checkCompacted(): Unit = {
    val resource = new ConfigResource(ConfigResource.Type.TOPIC, name)
    val policy =
      try Option(answer(admin.describeConfigs(java.util.List.of(resource)).all().get()).get(resource))
          .flatMap(found => Option(found.get("cleanup.policy"))).map(_.value)
      catch { case _: AuthorizationException => None }
    policy.filter(_ != "compact").foreach { other =>
      throw new InvalidConfiguration(
        s"The topic $name, which is to keep markers, has cleanup.policy=$other.",
        s"set it to compact, or name another topic (option ${KafkaOptions.Markers})."
      )
    }
  }

  private def make(): Unit = {
    val topic =
      new NewTopic(name, Optional.of(Integer.valueOf(MarkerTopic.Partitions)), Optional.empty[java.lang.Short])
        .configs(MarkerTopic.Settings.asJava)
    try answer(admin.createTopics(java.util.List.of(topic)).all().get()): Unit
    catch {
      case _: TopicExistsException => () // another query was faster
      case e: ApiException => throw new StorageFailure(
          s"The topic $name, which is to keep markers, is not there and cannot be made: ${e.getMessage}",
          s"make it with cleanup.policy=compact, or name another one (option ${KafkaOptions.Markers}).",
          e
        )
    }
  }

  private def answer[T](ask: => T): T =
    try ask
    catch { case e: ExecutionException if e.getCause.isInstanceOf[ApiException] => throw e.getCause }
}

private object MarkerTopic {
  private val Partitions = 8
  private val MadeWithinNanos = 30L * 1000000000
  private val LookEveryMs = 50L

  // Small segments: only those that are full or old are compacted, and a start reads the rest.
  private val Settings = Map(
    "cleanup.policy" -> "compact",
    "segment.bytes" -> (16 << 20).toString,
    "segment.ms" -> (10 * 60 * 1000).toString,
    "min.cleanable.dirty.ratio" -> "0.1"
  )
}
