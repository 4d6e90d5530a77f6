package io.snapline.spark.sink.jdbc

import java.sql.{SQLException, SQLNonTransientConnectionException, SQLRecoverableException, SQLTransientException}

import scala.jdk.CollectionConverters._

import io.snapline.error.StorageFailure

/** A database's errors as ours. */
private[jdbc] object JdbcErrors {

  def told[T](settings: JdbcSettings)(body: => T): T =
    try body
    catch {
      case e: SQLException =>
        val all = e.asScala.map(_.getMessage).filter(_ != null).toSeq.distinct
        throw new StorageFailure(
          s"${settings.database} failed: ${all.mkString("; ")}",
          "see that it answers, that the table takes such rows, and that no other transaction holds the marker's row.",
          e
        )
    }

  /** Whether it is a lost connection, a deadlock, a serialization failure, or a row that another attempt holds. */
  def isTransient(failure: Throwable): Boolean = {
    val causes = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(8).toSeq
    causes.collect { case e: SQLException => e.asScala }.flatten.exists {
      case _: SQLTransientException | _: SQLRecoverableException | _: SQLNonTransientConnectionException => true
      case e: SQLException => States.exists(Option(e.getSQLState).getOrElse("").startsWith) || isBusy(e)
      case _ => false
    }
  }

  /** Connection, transaction rollback, resources, locks, cancelled by a timeout, shut down. */
  private val States = Seq("08", "40", "53", "55P03", "57014", "57P0")

  /** SQLite says so in its text alone. */
  private def isBusy(e: SQLException): Boolean = {
    val text = String.valueOf(e.getMessage)
    text.contains("SQLITE_BUSY") || text.contains("SQLITE_LOCKED")
  }
}
