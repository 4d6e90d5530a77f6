package org.apache.spark.sql.connect.snapline

import java.lang.ProcessBuilder.Redirect
import java.util.{Collections, LinkedHashMap, Map => JavaMap, UUID}
import java.util.concurrent.{ConcurrentHashMap, LinkedBlockingQueue, TimeoutException, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.api.java.JavaSparkContext
import org.apache.spark.api.python.Py4JServer
import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.connect.service.SessionHolder
import org.slf4j.LoggerFactory

import io.snapline.error.{InvalidConfiguration, SnaplineException, StateNotFound, WrongSparkVersion}
import io.snapline.spark.coordinator.CheckpointDriver
import io.snapline.spark.settings.SparkLineCheck

/** The Python process beside the server that does, for one session of a client, all that is Python in a driver: it
  * starts queries, and recovers, replays and restarts them.
  *
  * `Companions` makes and closes it. The process joins this JVM by a gateway of its own, asks for requests with `next`,
  * and ends when the JVM does.
  *
  * @param token
  *   by which the process finds this object
  * @param onEnd
  *   called once, when the process has ended
  */
final class Companion private[snapline] (holder: SessionHolder, token: String, onEnd: Companion => Unit) {
  import Companion._

  private val requests = new LinkedBlockingQueue[Option[CompanionRequest]]
  private val recent = Collections.synchronizedMap(new Recent)
  private val frames = new ConcurrentHashMap[String, DataFrame]
  private val queries = ConcurrentHashMap.newKeySet[CheckpointDriver]()
  @volatile private var failure: Option[SnaplineException] = None
  @volatile private var isGreeted = false
  @volatile private var isClosing = false
  private val gateway = new Py4JServer(holder.session.sparkContext.getConf)
  gateway.start()
  private val process = launch()
  daemon("snapline-companion-watch")(watch())

  /** The answer to a request, in JSON. A client that asks again for the same request has the same answer.
    *
    * @param id
    *   the request's
    */
  private[snapline] def call(id: String, asked: => CompanionRequest): String = {
    val request = recent.computeIfAbsent(
      id,
      _ => {
        val made = asked
        requests.add(Some(made))
        made
      }
    )
    var answer: String = null
    while (answer == null) {
      try answer = request.answered.get(PollMs, TimeUnit.MILLISECONDS)
      catch { case _: TimeoutException => failure.foreach(throw _) }
    }
    answer
  }

  /** A DataFrame that a call has made. */
  private[snapline] def frame(id: String): DataFrame = Option(frames.get(id)).getOrElse(
    throw new StateNotFound(
      "The server has lost the DataFrame of a call: the Python process beside it ended.",
      "call the function again."
    )
  )

  /** Lets the process stop its queries and end; it is killed if it takes too long. */
  private[snapline] def close(): Unit = if (!isClosing) {
    isClosing = true
    requests.add(None)
    daemon("snapline-companion-close") {
      if (!process.waitFor(CloseSeconds, TimeUnit.SECONDS)) process.destroyForcibly(): Unit
    }
  }

  // The process calls these.

  /** First of all: a process of another version has nothing to do here. */
  def greet(version: String): Unit = {
    if (version != SparkLineCheck.version) {
      val error = new WrongSparkVersion(
        s"The server's Python has Snapline $version, and its jar is of ${SparkLineCheck.version}.",
        s"install Snapline ${SparkLineCheck.version} for $interpreter on the server."
      )
      failure = Some(error)
      throw error
    }
    isGreeted = true
  }

  /** The next request; null: it is time to end. */
  def next(): CompanionRequest = requests.take().orNull

  def context: JavaSparkContext = new JavaSparkContext(holder.session.sparkContext)

  def session: SparkSession = holder.session

  /** Keeps a DataFrame until the client asks for it; the text is its name. */
  def keep(frame: DataFrame): String = {
    val id = UUID.randomUUID.toString
    frames.put(id, frame)
    id
  }

  /** The query is stopped if the process ends without having done so. */
  def owns(query: CheckpointDriver): Unit = {
    queries.removeIf(_.isEnded)
    queries.add(query): Unit
  }

  /** The client's session does not expire from now on, as long as Spark lets one without requests be. */
  def touch(): Unit = holder.updateAccessTime()

  private def interpreter: String = ServerPython.interpreter(holder.session.sparkContext.getConf)

  private def launch(): Process = {
    val builder = new ProcessBuilder(interpreter, "-m", "snapline.companion")
    val environment = builder.environment
    ForClients.foreach(environment.remove)
    environment.put("PYSPARK_GATEWAY_PORT", gateway.getListeningPort.toString)
    environment.put("PYSPARK_GATEWAY_SECRET", gateway.secret)
    environment.put("SNAPLINE_COMPANION", token)
    environment.put("PYTHONPATH", ServerPython.path)
    builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT)
    try builder.start()
    catch {
      case NonFatal(e) =>
        gateway.shutdown()
        throw new InvalidConfiguration(
          s"The server cannot start $interpreter: ${e.getMessage}.",
          "set PYSPARK_PYTHON of the server to a Python that has Snapline.",
          e
        )
    }
  }

  private def watch(): Unit = {
    val code = process.waitFor()
    if (failure.isEmpty) failure = Some(ended(code))
    // A process that was told to end may have left some: one whose start it was about, or that did not stop in time.
    try stopQueries()
    finally {
      gateway.shutdown()
      onEnd(this)
    }
  }

  private def ended(code: Int): SnaplineException =
    if (isGreeted)
      new StateNotFound(
        s"The Python process beside the server has ended (exit code $code), and its queries are stopped.",
        "see the server's log; start the queries again: they go on from their newest checkpoints."
      )
    else
      new InvalidConfiguration(
        s"The server's Python, $interpreter, could not begin (exit code $code).",
        "install Snapline and pyspark for it (PYSPARK_PYTHON of the server names it); see the server's log."
      )

  /** They would go on without anybody who starts them again, or takes their checkpoints' place in the journal. */
  private def stopQueries(): Unit = queries.forEach { query =>
    try query.abandon()
    catch { case NonFatal(e) => log.warn("A query whose Python process has ended did not stop.", e) }
  }
}

private object Companion {
  private val log = LoggerFactory.getLogger(classOf[Companion])
  private val PollMs = 500L
  private val CloseSeconds = 60L
  private val MaxRecent = 1000

  /** They would make a client of the process, or join it to another JVM. */
  private val ForClients =
    Seq("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_CONNECT_MODE", "SPARK_API_MODE")

  /** The newest requests, by id. */
  private final class Recent extends LinkedHashMap[String, CompanionRequest] {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, CompanionRequest]): Boolean = size > MaxRecent
  }

  private def daemon(name: String)(run: => Unit): Unit = {
    val thread = new Thread(() => run, name)
    thread.setDaemon(true)
    thread.start()
  }
}
