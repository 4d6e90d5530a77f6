package io.snapline.spark.sink

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType

import io.snapline.error.InvalidConfiguration

/** One micro-batch: of the query itself, or of a write in its foreachBatch. */
private[sink] final class ExactlyOnceWrite(name: String, target: SinkTarget, options: SinkOptions, schema: StructType)
    extends Write {
  // Spark makes a Write for each micro-batch, on the thread of the query.
  private val context = SparkContext.getOrCreate()
  private lazy val number = property(ExactlyOnceWrite.Batch).toLong
  lazy val run: SinkRun =
    SinkRun.of(SinkId(property(ExactlyOnceWrite.Query), name), property(ExactlyOnceWrite.Run), options)

  private def property(key: String): String = Option(context.getLocalProperty(key)).getOrElse(
    throw new InvalidConfiguration(
      s"A batch query writes to ${target.description} exactly once; only micro-batches have numbers.",
      "write with Spark's own format; or use writeStream, or write in its foreachBatch."
    )
  )

  private def begin(info: PhysicalWriteInfo): ExactlyOnceFactory =
    new ExactlyOnceFactory(run.begin(target, number, info.numPartitions), schema)

  override def description(): String = s"exactly once to ${target.description}"

  override def supportedCustomMetrics(): Array[CustomMetric] = SinkMetrics.supported

  // In Spark's log.
  override def toString: String = description()

  override def toStreaming: StreamingWrite = new StreamingWrite {
    override def toString: String = description()
    override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = begin(info)
    override def useCommitCoordinator(): Boolean = false
    override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit = run.commit(epochId, messages)
    override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit = ()
  }

  override def toBatch: BatchWrite = new BatchWrite {
    override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = begin(info)
    override def useCommitCoordinator(): Boolean = false
    override def commit(messages: Array[WriterCommitMessage]): Unit = run.commit(number, messages)
    override def abort(messages: Array[WriterCommitMessage]): Unit = ()
  }
}

private object ExactlyOnceWrite {
  // Spark's names (StreamExecution, MicroBatchExecution); the job group of a stream's thread is the id of its run.
  val Query = "sql.streaming.queryId"
  val Batch = "streaming.sql.batchId"
  val Run = "spark.jobGroup.id"
}

/** For the tasks of one micro-batch. Attempts are told apart by the markers: no coordinator is asked. */
private final class ExactlyOnceFactory(batch: SinkBatch, schema: StructType)
    extends StreamingDataWriterFactory
    with DataWriterFactory {

  override def createWriter(partition: Int, task: Long): DataWriter[InternalRow] =
    new ExactlyOnceWriter(batch, partition, schema)

  override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
    createWriter(partition, task)
}
