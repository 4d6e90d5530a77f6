package io.snapline.spark.sink.jdbc

import java.sql.{Connection, PreparedStatement, SQLException}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow

import io.snapline.spark.sink._

/** One partition of a batch in one transaction of a database. The marker's row is claimed first: of two attempts one
  * waits for the other. Owns the connection until it is closed, or back in the pool.
  */
private[jdbc] final class JdbcTransaction(target: JdbcTarget, batch: SinkBatch, partition: Int, connection: Connection)
    extends SinkTransaction {
  private val settings = target.settings
  private val markers = new JdbcMarkers(settings, connection)
  private var statement: PreparedStatement = _
  private var waiting = 0
  private var isClean = false

  override val last: Option[Marker] = told {
    val claimed = claim()
    if (claimed) None
    else {
      val found = markers.of(batch.sink, partition)
      connection.rollback()
      isClean = true
      found
    }
  }

  private def claim(): Boolean = {
    val claimed = Marker(batch.number, batch.partitions, rows = 0, digest = 0)
    try markers.claim(batch.sink, partition, claimed)
    catch {
      case e: SQLException if Option(e.getSQLState).exists(_.startsWith("23")) =>
        // Another attempt has made the row meanwhile.
        connection.rollback()
        markers.claim(batch.sink, partition, claimed)
    }
  }

  override def write(row: InternalRow): Unit = told {
    if (statement == null) statement = connection.prepareStatement(target.text)
    target.binder.bind(statement, row)
    statement.addBatch()
    waiting += 1
    if (waiting == target.batchSize) flush()
  }

  private def flush(): Unit = if (waiting > 0) {
    statement.executeBatch(): Unit
    waiting = 0
  }

  override def commit(marker: Marker): Option[MarkerPlace] = told {
    flush()
    markers.write(batch.sink, partition, marker)
    connection.commit()
    isClean = true
    None
  }

  private def told[T](body: => T): T = JdbcErrors.told(settings)(body)

  override def close(): Unit = {
    try if (statement != null) statement.close()
    catch { case NonFatal(_) => isClean = false }
    if (isClean) JdbcTarget.connections.give(settings, connection)
    else {
      try connection.rollback()
      catch { case NonFatal(_) => () } // gone already, with its transaction
      IdlePool.close(connection)
    }
  }
}
