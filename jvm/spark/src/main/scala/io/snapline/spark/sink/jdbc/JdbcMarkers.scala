package io.snapline.spark.sink.jdbc

import java.sql.{Connection, PreparedStatement, ResultSet}

import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.types._

import io.snapline.spark.sink.{Marker, SinkId}

/** The table of markers, on a connection of the caller's. Its columns are documented in docs/exactly-once.md. */
private[jdbc] final class JdbcMarkers(settings: JdbcSettings, connection: Connection) {
  private val table = settings.markers

  /** Makes it if it is not there. Commits. */
  def ready(): Unit = {
    val tables = new SqlTables(settings, connection)
    if (!tables.exists(table)) {
      val columns = JdbcMarkers.Columns.map { case (name, kind) =>
        s"$name ${JdbcUtils.getJdbcType(kind, settings.dialect).databaseTypeDefinition} NOT NULL"
      }
      try execute(s"CREATE TABLE $table (${columns.mkString(", ")}, PRIMARY KEY (sink, part))")
      // Another query may have been faster.
      catch { case e: java.sql.SQLException => connection.rollback(); if (!tables.exists(table)) throw e }
    }
    connection.commit()
  }

  def all(sink: SinkId): Map[Int, Marker] =
    query(s"SELECT ${JdbcMarkers.Fields}, part FROM $table WHERE sink = ?", _.setString(1, sink.toString)) { found =>
      found.getInt(5) -> JdbcMarkers.read(found)
    }.toMap

  def of(sink: SinkId, partition: Int): Option[Marker] =
    query(s"SELECT ${JdbcMarkers.Fields} FROM $table WHERE sink = ? AND part = ?", at(_, 1, sink, partition))(
      JdbcMarkers.read
    ).headOption

  /** Takes the row of a partition's marker for this transaction: other attempts wait for its end. False: the marker is
    * of this batch or a later one. Throws if another attempt makes the row at the same moment.
    */
  def claim(sink: SinkId, partition: Int, marker: Marker): Boolean = {
    val taken = update(s"UPDATE $table SET ${JdbcMarkers.Set} WHERE sink = ? AND part = ? AND batch < ?") { statement =>
      set(statement, marker)
      at(statement, 5, sink, partition)
      statement.setLong(7, marker.batch)
    } == 1
    taken || (of(sink, partition).isEmpty && insert(sink, partition, marker))
  }

  private def insert(sink: SinkId, partition: Int, marker: Marker): Boolean =
    update(s"INSERT INTO $table (${JdbcMarkers.Fields}, sink, part) VALUES (?, ?, ?, ?, ?, ?)") { statement =>
      set(statement, marker)
      at(statement, 5, sink, partition)
    } == 1

  /** The claim was this transaction's. */
  def write(sink: SinkId, partition: Int, marker: Marker): Unit =
    update(s"UPDATE $table SET ${JdbcMarkers.Set} WHERE sink = ? AND part = ?") { statement =>
      set(statement, marker)
      at(statement, 5, sink, partition)
    }: Unit

  private def set(statement: PreparedStatement, marker: Marker): Unit = {
    statement.setLong(1, marker.batch)
    statement.setInt(2, marker.partitions)
    statement.setLong(3, marker.rows)
    statement.setString(4, Marker.hex(marker.digest))
  }

  private def at(statement: PreparedStatement, from: Int, sink: SinkId, partition: Int): Unit = {
    statement.setString(from, sink.toString)
    statement.setInt(from + 1, partition)
  }

  private def execute(text: String): Unit = update(text)(_ => ()): Unit

  private def update(text: String)(bind: PreparedStatement => Unit): Int = {
    val statement = connection.prepareStatement(text)
    try {
      statement.setQueryTimeout(JdbcMarkers.LongestSeconds)
      bind(statement)
      statement.executeUpdate()
    } finally statement.close()
  }

  private def query[T](text: String, bind: PreparedStatement => Unit)(read: ResultSet => T): Seq[T] = {
    val statement = connection.prepareStatement(text)
    try {
      bind(statement)
      val found = statement.executeQuery()
      Iterator.continually(found).takeWhile(_.next()).map(read).toList
    } finally statement.close()
  }
}

private object JdbcMarkers {

  /** Names and types are on disk: never others. */
  val Columns: Seq[(String, DataType)] = Seq(
    "sink" -> VarcharType(255),
    "part" -> IntegerType,
    "batch" -> LongType,
    "parts" -> IntegerType,
    "row_count" -> LongType,
    "digest" -> VarcharType(16)
  )
  val Fields = "batch, parts, row_count, digest"
  val Set = "batch = ?, parts = ?, row_count = ?, digest = ?"

  /** How long a statement waits for an attempt that holds the row. */
  val LongestSeconds = 30

  def read(found: ResultSet): Marker =
    Marker(found.getLong(1), found.getInt(2), found.getLong(3), Marker.number(found.getString(4)))
}
