package io.snapline.spark.sink.jdbc

import java.sql.Connection

import org.apache.spark.sql.types.StructType

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.sink._

/** A table of a database, with a transaction for each partition of a batch. */
private[jdbc] final class JdbcTarget(val settings: JdbcSettings, schema: StructType) extends SinkTarget {
  import JdbcTarget.connections

  // Made by the driver, in prepare.
  private var statement: String = _

  @transient lazy val binder: RowBinder = new RowBinder(schema, KeyColumns.of(settings, schema), settings.dialect)

  def text: String = statement

  def batchSize: Int = settings.ofSpark.batchSize

  override def description: String = s"the table ${settings.table} of ${settings.database}"

  override def keepsRows: Boolean = true

  override def isTransient(failure: Throwable): Boolean = JdbcErrors.isTransient(failure)

  override def begin(sink: SinkId): KnownMarkers = onDriver { connection =>
    if (sink.toString.length > JdbcTarget.LongestName) throw new InvalidConfiguration(
      s"The name of the sink $sink is longer than ${JdbcTarget.LongestName} letters.",
      s"set the option ${SinkOptions.Name} to a shorter one."
    )
    val markers = new JdbcMarkers(settings, connection)
    markers.ready()
    val found = markers.all(sink)
    connection.commit()
    KnownMarkers(found, Map.empty)
  }

  override def layout: Any = (settings, schema)

  override def prepare(): Unit = onDriver { connection =>
    val tables = new SqlTables(settings, connection)
    if (!tables.exists(settings.table)) {
      // Keys that do not fit are refused while there is no table.
      WriteStatement.text(settings, schema, schema.fieldNames.toSeq): Unit
      tables.create(schema)
      connection.commit()
    }
    val there = tables.columns(settings.table)
    val unique = if (settings.needsUniqueKey) Some(tables.uniqueKeys(settings.table)) else None
    connection.commit()
    statement = WriteStatement.text(settings, schema, there)
    unique.foreach(KeyColumns.check(settings, schema, _))
  }

  override def forget(sink: SinkId, batch: Long, known: KnownMarkers): Unit = onDriver { connection =>
    val markers = new JdbcMarkers(settings, connection)
    known.markers.foreach { case (partition, marker) =>
      markers.write(sink, partition, marker.copy(batch = batch - 1))
    }
    connection.commit()
  }

  private def onDriver[T](body: Connection => T): T = JdbcErrors.told(settings) {
    val connection = settings.connect()
    try body(connection)
    finally connection.close()
  }

  override def open(batch: SinkBatch, partition: Int): SinkTransaction = {
    val connection = JdbcErrors.told(settings)(usable().getOrElse(settings.connect()))
    try new JdbcTransaction(this, batch, partition, connection)
    catch {
      case e: Throwable =>
        IdlePool.close(connection)
        throw e
    }
  }

  private def usable(): Option[Connection] = connections.take(settings).filter { connection =>
    val answers = connection.isValid(JdbcTarget.AnswersWithinSeconds)
    if (!answers) IdlePool.close(connection)
    answers
  }
}

private[jdbc] object JdbcTarget {
  private val LongestName = 255
  private val AnswersWithinSeconds = 5
  private val IdleMillis = 60000L

  /** Connections of this executor, without a transaction. */
  val connections = new IdlePool[JdbcSettings, Connection]("connections", IdleMillis)
}
