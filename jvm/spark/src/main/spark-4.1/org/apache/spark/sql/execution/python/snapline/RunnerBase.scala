package org.apache.spark.sql.execution.python.snapline

import java.io.DataInputStream
import java.util.concurrent.atomic.AtomicBoolean

import scala.annotation.unused

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python._
import org.apache.spark.util.AccumulatorV2

/** Spark's runner of a plain Python function. On this line its reader does not count. */
private[snapline] abstract class RunnerBase[Out](
    function: PythonFunction,
    jobArtifactUUID: Option[String],
    workerMetrics: Map[String, AccumulatorV2[Long, Long]]
) extends BasePythonRunner[Nothing, Out](
      Seq(ChainedPythonFunctions(Seq(function))),
      PythonEvalType.NON_UDF,
      Array(Array(0)),
      jobArtifactUUID,
      workerMetrics
    ) {

  protected abstract class CountingReader(
      stream: DataInputStream,
      writer: Writer,
      startTime: Long,
      env: SparkEnv,
      worker: PythonWorker,
      process: Option[WorkerProcess.Handle],
      releasedOrClosed: AtomicBoolean,
      context: TaskContext
  ) extends ReaderIterator(stream, writer, startTime, env, worker, process, releasedOrClosed, context) {
    protected def received(@unused bytes: Int): Unit = ()
  }
}
