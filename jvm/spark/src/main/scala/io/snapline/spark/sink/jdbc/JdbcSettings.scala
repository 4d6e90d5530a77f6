package io.snapline.spark.sink.jdbc

import java.sql.Connection
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.jdbc.{JDBCOptions, JdbcOptionsInWrite}
import org.apache.spark.sql.jdbc.{JdbcDialect, JdbcDialects}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.{InvalidConfiguration, UriPassword}
import io.snapline.spark.sink.SinkOptions

/** Options of the JDBC sink: Spark's of its writer, and ours.
  *
  * @param options
  *   those of Spark and of the driver
  * @param keys
  *   columns by which a row replaces the one before; empty: rows are appended
  * @param markers
  *   the table of the markers
  */
private[jdbc] final case class JdbcSettings(options: Map[String, String], keys: Seq[String], markers: String) {
  def upserts: Boolean = keys.nonEmpty

  @transient lazy val ofSpark: JdbcOptionsInWrite = new JdbcOptionsInWrite(options)

  def url: String = CaseInsensitiveMap(options)(JDBCOptions.JDBC_URL)

  def table: String = CaseInsensitiveMap(options)(JDBCOptions.JDBC_TABLE_NAME)

  /** The database that the URL is of: `postgresql`, for example. */
  def kind: String = JdbcSettings.kindOf(url)

  def isMySql: Boolean = kind == "mysql" || kind == "mariadb"

  /** Whether the database appends rows without a word where the table has no unique key. PostgreSQL and SQLite refuse
    * the statement then, and H2 looks for a row by itself.
    */
  def needsUniqueKey: Boolean = upserts && isMySql

  /** Spark knows MariaDB by MySQL's name only. */
  def dialect: JdbcDialect = JdbcDialects.get(if (isMySql) "jdbc:mysql:" else url)

  /** The database, for errors: without what may be secret in its parameters. */
  def database: String = UriPassword.hide(url.takeWhile(letter => letter != '?' && letter != ';'))

  /** With transactions; the caller closes it. */
  def connect(): Connection = {
    val connection = dialect.createConnectionFactory(ofSpark)(-1)
    if (!connection.getMetaData.supportsTransactions) {
      connection.close()
      throw new InvalidConfiguration(s"$database has no transactions.", "write to a database that has.")
    }
    connection.setAutoCommit(false)
    connection
  }
}

private[jdbc] object JdbcSettings {
  val Mode = "mode"
  val Keys = "keys"
  val Append = "append"
  val Upsert = "upsert"
  val Markers = "markersTable"
  val DefaultMarkers = "snapline_markers"

  // Those of no driver: it gets every other option as a property.
  private val Own = SinkOptions.known(Seq(Mode, Keys, Markers))

  def apply(set: CaseInsensitiveStringMap): JdbcSettings = {
    def text(name: String): Option[String] = Option(set.get(name)).map(_.trim).filter(_.nonEmpty)
    for (name <- Seq(JDBCOptions.JDBC_URL, JDBCOptions.JDBC_TABLE_NAME) if text(name).isEmpty)
      throw new InvalidConfiguration(s"The sink has no $name.", s"set the option $name.")
    val keys = text(Keys).fold(Seq.empty[String])(_.split(',').toSeq.map(_.trim).filter(_.nonEmpty))
    val mode = text(Mode).getOrElse(if (keys.isEmpty) Append else Upsert).toLowerCase(Locale.ROOT)
    mode match {
      case Append if keys.nonEmpty =>
        throw new InvalidConfiguration(s"The option $Keys is set, and $Mode is $Append.", "leave out one of them.")
      case Upsert if keys.isEmpty =>
        throw new InvalidConfiguration(s"The option $Mode is $Upsert, and no $Keys are set.", s"name columns in $Keys.")
      case Append | Upsert => ()
      case other => throw new InvalidConfiguration(s"The option $Mode is $other.", s"set it to $Append or $Upsert.")
    }
    val rest = set.asCaseSensitiveMap.asScala.toMap.filterNot { case (name, _) => Own(name.toLowerCase(Locale.ROOT)) }
    JdbcSettings(rest ++ defaults(CaseInsensitiveMap(rest), mode), keys, text(Markers).getOrElse(DefaultMarkers))
  }

  /** Options that are not set, where the database is known. Java finds no driver by itself among `spark.jars`, and
    * PostgreSQL's sends a batch of plain inserts as one if it is told to.
    */
  private def defaults(options: CaseInsensitiveMap[String], mode: String): Map[String, String] = {
    val kind = kindOf(options(JDBCOptions.JDBC_URL))
    val driver = Drivers.get(kind).map(JDBCOptions.JDBC_DRIVER_CLASS -> _)
    val rewrite = if (kind == "postgresql" && mode == Append) Some("reWriteBatchedInserts" -> "true") else None
    (driver ++ rewrite).filterNot { case (name, _) => options.contains(name) }.toMap
  }

  private def kindOf(url: String): String = url.stripPrefix("jdbc:").takeWhile(_ != ':')

  private val Drivers = Map(
    "h2" -> "org.h2.Driver",
    "mariadb" -> "org.mariadb.jdbc.Driver",
    "mysql" -> "com.mysql.cj.jdbc.Driver",
    "oracle" -> "oracle.jdbc.OracleDriver",
    "postgresql" -> "org.postgresql.Driver",
    "sqlite" -> "org.sqlite.JDBC",
    "sqlserver" -> "com.microsoft.sqlserver.jdbc.SQLServerDriver"
  )
}
