package org.apache.spark.sql.execution.python.snapline

import java.io.{ByteArrayOutputStream, DataInputStream, DataOutputStream, EOFException, IOException, InputStream}
import java.net.StandardSocketOptions
import java.nio.ByteBuffer
import java.nio.channels.SelectionKey
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable

import io.snapline.spark.operator.frames.{WorkerFrame, WorkerLink}

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python._
import org.apache.spark.internal.config.Python.PYTHON_TASK_KILL_TIMEOUT
import org.apache.spark.util.AccumulatorV2

/** Runs a plain function in Spark's own Python worker and exchanges frames with it.
  *
  * Spark starts, watches and reuses the worker and writes the task's head; the two streams behind that are ours. One
  * thread, the task's. It never waits to write while the worker may be waiting for it to read.
  */
private[snapline] final class PythonWorkerLink(
    function: PythonFunction,
    jobArtifactUUID: Option[String],
    workerMetrics: Map[String, AccumulatorV2[Long, Long]]
) extends RunnerBase[WorkerFrame](function, jobArtifactUUID, workerMetrics)
    with WorkerLink {
  private var socket: DuplexSocket = _
  private var frames: Iterator[WorkerFrame] = _

  /** Whether the worker has said that it is through; then it is Spark's again. */
  private var hasEnded = false

  def start(context: TaskContext): Unit = frames = compute(Iterator.empty, context.partitionId(), context)

  override def send(frame: Array[ByteBuffer]): Unit = {
    metrics("pythonDataSent").add(frame.map(_.remaining().toLong).sum)
    socket.write(frame)
  }

  override def receive(): WorkerFrame = if (frames.hasNext) frames.next() else null

  override def finish(): Unit = {
    val end = ByteBuffer.allocate(4).putInt(SpecialLengths.END_OF_STREAM)
    end.flip()
    socket.write(Array(end))
  }

  /** Spark writes the head when it makes its own input stream, which is not used: the head is caught here. */
  private val head = new ByteArrayOutputStream

  override protected def newWriter(
      env: SparkEnv,
      worker: PythonWorker,
      inputIterator: Iterator[Nothing],
      partitionIndex: Int,
      context: TaskContext
  ): Writer = new Writer(env, worker, inputIterator, partitionIndex, context) {
    override def open(dataOut: DataOutputStream): Unit = super.open(new DataOutputStream(head))

    override protected def writeCommand(dataOut: DataOutputStream): Unit =
      PythonWorkerUtils.writePythonFunction(function, dataOut)

    override def writeNextInputToStream(dataOut: DataOutputStream): Boolean = false
  }

  override protected def newReaderIterator(
      unused: DataInputStream,
      writer: Writer,
      startTime: Long,
      env: SparkEnv,
      worker: PythonWorker,
      process: Option[WorkerProcess.Handle],
      releasedOrClosed: AtomicBoolean,
      context: TaskContext
  ): Iterator[WorkerFrame] = {
    val end = new WorkerEnd(worker, process.flatMap(WorkerProcess.of), env.conf.get(PYTHON_TASK_KILL_TIMEOUT))
    // Called before the listener of Spark, which closes the connection and leaves the process to itself.
    context.addTaskCompletionListener[Unit] { ended =>
      if (!hasEnded && releasedOrClosed.compareAndSet(false, true)) end.of(ended)
    }
    socket = new DuplexSocket(worker)
    socket.write(Array(ByteBuffer.wrap(head.toByteArray)))
    val stream = new DataInputStream(socket)
    new CountingReader(stream, writer, startTime, env, worker, process, releasedOrClosed, context) {
      override protected def read(): WorkerFrame = {
        writer.exception.foreach(throw _)
        try
          stream.readInt() match {
            case length if length >= 0 =>
              val bytes = new Array[Byte](length)
              stream.readFully(bytes)
              received(length)
              metrics("pythonDataReceived").add(length.toLong)
              WorkerFrame.read(bytes)
            case SpecialLengths.TIMING_DATA =>
              handleTimingData()
              read()
            case SpecialLengths.PYTHON_EXCEPTION_THROWN => throw handlePythonException()
            case SpecialLengths.END_OF_DATA_SECTION =>
              handleEndOfDataSection()
              hasEnded = true
              null
            case other => throw new EOFException(s"The worker sent the mark $other.")
          }
        catch handleException
      }
    }
  }
}

/** A worker's socket, read through and written in passing. */
private final class DuplexSocket(worker: PythonWorker) extends InputStream {
  private val pending = mutable.Queue.empty[ByteBuffer]
  private val in = ByteBuffer.allocate(1 << 18).limit(0)

  /** Frames that arrive while one is being written are kept here, up to a bound; then writing waits for the reader. */
  private val arrived = mutable.Queue.empty[ByteBuffer]
  private var arrivedBytes = 0L

  // Else the last packet of a frame waits up to 40 ms for the acknowledgement of the one before. A Unix socket has no
  // such option.
  if (worker.channel.supportedOptions().contains(StandardSocketOptions.TCP_NODELAY))
    worker.channel.setOption[java.lang.Boolean](StandardSocketOptions.TCP_NODELAY, true): Unit

  def write(buffers: Array[ByteBuffer]): Unit = {
    pending ++= buffers.filter(_.hasRemaining)
    var stuck = false
    while (pending.nonEmpty && !stuck) {
      drain()
      if (pending.nonEmpty) {
        if (arrivedBytes > DuplexSocket.MaxArrived) stuck = true
        else {
          select(SelectionKey.OP_READ | SelectionKey.OP_WRITE)
          if (worker.selectionKey.isReadable) keep()
        }
      }
    }
  }

  /** All buffers of a frame go out in one call: each call is a packet of its own. */
  private def drain(): Unit =
    try {
      var took = true
      while (took && pending.nonEmpty) {
        took = worker.channel.write(pending.toArray) > 0
        pending.dropWhileInPlace(!_.hasRemaining): Unit
      }
    } catch {
      // A worker that has failed reads no more. Why it failed is still to be read, and matters more than the broken
      // pipe.
      case e: IOException if !worker.channel.isOpen || Thread.currentThread().isInterrupted => throw e
      case _: IOException => pending.clear()
    }

  private def keep(): Unit = {
    val buffer = ByteBuffer.allocate(1 << 16)
    // The end of the stream is met again by the reader.
    if (worker.channel.read(buffer) > 0) {
      buffer.flip()
      arrived += buffer
      arrivedBytes += buffer.remaining()
    }
  }

  private def select(operations: Int): Unit = {
    worker.selectionKey.interestOps(operations)
    worker.selector.selectedKeys().clear()
    worker.selector.select(): Unit
    if (Thread.interrupted()) throw new InterruptedException
  }

  override def read(): Int = if (fill()) in.get() & 0xff else -1

  override def read(bytes: Array[Byte], offset: Int, length: Int): Int =
    if (!fill()) -1
    else {
      val count = math.min(length, in.remaining())
      in.get(bytes, offset, count)
      count
    }

  private def fill(): Boolean = {
    var open = true
    while (open && !in.hasRemaining) {
      if (arrived.nonEmpty) {
        val next = arrived.dequeue()
        arrivedBytes -= next.remaining()
        in.clear()
        in.put(next)
        in.flip()
      } else {
        select(if (pending.isEmpty) SelectionKey.OP_READ else SelectionKey.OP_READ | SelectionKey.OP_WRITE)
        if (worker.selectionKey.isReadable) {
          in.clear()
          open = worker.channel.read(in) >= 0
          in.flip()
        }
        if (pending.nonEmpty && worker.selectionKey.isWritable) drain()
      }
    }
    open
  }
}

private object DuplexSocket {
  private val MaxArrived = 16L << 20
}
