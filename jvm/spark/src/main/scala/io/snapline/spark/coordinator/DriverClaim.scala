package io.snapline.spark.coordinator

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.util.UUID

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.snapline.error.{QueryTakenOver, StoreClosed}
import io.snapline.storage.CheckpointStorage

/** The claim of one driver on a checkpoint folder, which belongs to the driver that began last
  * (docs/notes/013-two-drivers.md).
  *
  * Owns the file `<number>_<id>` in `snapline/claims`, from `take` to `release`; a driver that dies leaves it. The
  * greatest number counts, and of two drivers that chose the same one the greater id: nothing rests on a file system
  * that makes a name only once. Who claims removes the older claims, and only a later driver removes this one. So a
  * driver that slept while another came and went finds its own gone. Before `take` nothing is claimed, and every check
  * passes; after `release` none does. Any thread.
  */
private[spark] final class DriverClaim(
    storage: CheckpointStorage,
    holder: ClaimHolder,
    id: String = UUID.randomUUID().toString,
    sleep: Long => Unit = Thread.sleep(_)
) {
  import DriverClaim._

  @volatile private var own: Option[Claim] = None
  @volatile private var taken: Option[QueryTakenOver] = None
  @volatile private var isReleased = false

  /** The folder is this driver's from here on, and was no other's for a moment. Only `check`, if it has claimed before.
    *
    * A driver that is alive looks at the folder before whatever it does next: it gets the time to end what it is about.
    */
  def take(): Unit = synchronized {
    checkOpen()
    if (own.isEmpty) {
      val before = claims()
      val claim = Claim(before.lastOption.fold(0L)(_.number) + 1, id)
      val output = storage.create(claim.name)
      try {
        output.write(holder.json.getBytes(UTF_8))
        output.close()
      } catch { case e: Throwable => output.abandon(); throw e }
      own = Some(claim)
      if (before.exists(mayLive)) sleep(GraceMs)
      check()
      before.foreach(old => storage.delete(old.name): Unit)
    } else check()
  }

  /** Before whatever only the folder's driver may do. Throws QueryTakenOver, now and ever after. */
  def check(): Unit = {
    checkOpen()
    own.foreach { claim =>
      taken.foreach(throw _)
      val there = claims()
      val after = there.filter(isBefore(claim, _)).lastOption
      if (after.isDefined || !there.contains(claim)) {
        val e = new QueryTakenOver(
          s"${storage.location} was claimed by ${after.fold("another driver, which has ended,")(describe)} after this driver.",
          "stop one of the two: whatever starts the query must not start it a second time. This one has ended its query and changes nothing more in the folder."
        )
        taken = Some(e)
        throw e
      }
    }
  }

  private def checkOpen(): Unit =
    if (isReleased)
      throw new StoreClosed(s"The driver that had ${storage.location} has ended.", "start the query again.")

  /** Why this driver has nothing more to do in the folder, as far as it has looked. */
  def lost: Option[QueryTakenOver] = taken

  /** Looks whether another driver has claimed the folder, or did before this one was released. */
  def isTakenOver: Boolean = taken.isDefined || own.exists(claim => claims().exists(isBefore(claim, _)))

  /** The query is over, and no check passes any more.
    *
    * @param idle
    *   nothing is under way in the folder: the next driver need not ask whether this one lives
    */
  def release(idle: Boolean): Unit = synchronized {
    isReleased = true
    // One that stays is taken for that of a driver which has died.
    try own.filter(_ => idle).foreach(claim => storage.delete(claim.name): Unit)
    catch { case NonFatal(_) => () }
  }

  private def claims(): Seq[Claim] = storage.list("").flatMap(file => parse(file.name)).sorted

  private def mayLive(claim: Claim): Boolean = read(claim).forall(holder.mayLive)

  private def describe(claim: Claim): String = read(claim).fold("another driver")(json =>
    s"${json.path("application").asText("another driver")} on ${json.path("host").asText("an unknown host")}, process ${json.path("pid").asLong}"
  )

  /** None: it is being written, or gone. */
  private def read(claim: Claim): Option[JsonNode] =
    try {
      val input = storage.open(claim.name)
      try {
        val bytes = new Array[Byte](math.min(input.length, LongestBytes).toInt)
        input.readFully(0, bytes, 0, bytes.length)
        Option(new ObjectMapper().readTree(bytes)).filter(_.isObject)
      } finally input.close()
    } catch { case NonFatal(_) => None }
}

private[spark] object DriverClaim {

  /** As long as a driver that lives may take to look: BatchWatch. */
  private[spark] val GraceMs = 2000L
  private val LongestBytes = 10000L
  private val Name = """(\d{1,18})_([0-9a-f-]{36})""".r

  private final case class Claim(number: Long, id: String) {
    def name: String = s"${number}_$id"
  }

  private implicit val order: Ordering[Claim] = Ordering.by(claim => (claim.number, claim.id))

  private def isBefore(one: Claim, other: Claim): Boolean = order.lt(one, other)

  private def parse(name: String): Option[Claim] = name match {
    case Name(number, id) => Some(Claim(number.toLong, id))
    case _ => None
  }
}

/** The process that claims, so that a person and the next driver find it.
  *
  * @param startedMs
  *   start of the process in milliseconds since 1970: its number may be another's by now
  */
private[spark] final case class ClaimHolder(application: String, host: String, pid: Long, startedMs: Long) {
  def json: String = {
    val json = new ObjectMapper().createObjectNode()
    json.put("application", application).put("host", host).put("pid", pid).put("startedMs", startedMs)
    json.put("at", Instant.now().toString).toString
  }

  /** Whether the holder may live. Nobody knows that of a process on another machine. */
  def mayLive(other: JsonNode): Boolean = other.path("host").asText != host ||
    ClaimHolder.startOf(other.path("pid").asLong).contains(other.path("startedMs").asLong)
}

private[spark] object ClaimHolder {
  def here(application: String): ClaimHolder = {
    val host =
      try java.net.InetAddress.getLocalHost.getHostName
      catch { case NonFatal(_) => "unknown" }
    val pid = ProcessHandle.current().pid
    ClaimHolder(application, host, pid, startOf(pid).getOrElse(0L))
  }

  private def startOf(pid: Long): Option[Long] =
    ProcessHandle.of(pid).flatMap(_.info.startInstant).map[Option[Long]](start => Some(start.toEpochMilli)).orElse(None)
}
