package io.snapline.spark.savepoint

import java.util.zip.CRC32C

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.SparkException
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.execution.streaming.state.StateStoreConf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

import io.snapline.error.IncompatibleState
import io.snapline.spark.provider.ProviderSettings

/** The states of a checkpoint as tables: what the Python package calls to take savepoints and to restore them. It knows
  * nothing of a savepoint's own files.
  *
  * `offsetMetadata` is the second line of the batch's entry in the offset log: what the query was set to when it wrote
  * the state. `operator` is an [[OperatorLayout]] in JSON.
  */
object Savepoints {

  /** The state of a checkpoint folder, as [[FoundState.json]].
    *
    * @param number
    *   number of a checkpoint; 0: the newest complete state
    */
  def find(session: SparkSession, checkpoint: String, number: Long): String =
    new StateFinder(session, checkpoint).find(if (number == 0) None else Some(number), readBack = true).json

  /** The stateful operators that a query will have, as they would stand in a checkpoint folder that it has not yet:
    * Spark plans a first batch of it, which writes them into the folder, and nothing runs.
    *
    * @param offsetMetadata
    *   the settings that the query will go on with
    * @param folder
    *   new; whoever calls removes it
    */
  def planned(query: DataFrame, outputMode: OutputMode, offsetMetadata: String, folder: String): String = {
    val session = SessionInternals.copyOf(query.sparkSession)
    SessionInternals.planFirstBatch(session, query, outputMode, offsetMetadata, folder)
    val settings = SessionInternals.settingsOfBatch(session, offsetMetadata)
    val configuration = SessionInternals.hadoopConfiguration(session)
    OperatorLayout.toJson(new CheckpointStates(new Path(folder), 0, configuration, settings).operators)
  }

  /** A session like this one with some settings of its own. */
  def sessionWith(session: SparkSession, settings: java.util.Map[String, String]): SparkSession = {
    val copy = SessionInternals.copyOf(session)
    settings.asScala.foreach { case (name, value) => copy.conf.set(name, value) }
    copy
  }

  def maxParallelism(session: SparkSession): Int =
    ProviderSettings.maxParallelism(SessionInternals.hadoopConfiguration(session))

  /** A state of a checkpoint as a table.
    *
    * @param uids
    *   by partition, which attempt to read; empty where no one knows
    */
  def read(
      session: SparkSession,
      checkpoint: String,
      version: Long,
      offsetMetadata: String,
      operator: String,
      store: String,
      family: String,
      uids: java.util.Map[Integer, String]
  ): DataFrame = {
    val layout = OperatorLayout.fromJson(operator)
    val (found, kept) = stateOf(layout, store, family)
    val named = uids.asScala.map { case (partition, uid) => partition.intValue -> uid }.toMap
    SessionInternals.frame(session, state(session, checkpoint, version, offsetMetadata, layout, found, kept, named))
  }

  private[savepoint] def state(
      session: SparkSession,
      checkpoint: String,
      version: Long,
      offsetMetadata: String,
      operator: OperatorLayout,
      store: StoreLayout,
      family: FamilyLayout,
      uids: Map[Int, String]
  ): StateTable = {
    val task = readTask(session, checkpoint, offsetMetadata, operator, store, uids)
    val scan = new StateScan(task, family, version, uids, maxParallelism(session))
    new StateTable(scan, operator, family, s"state ${store.nameOf(family)} of ${operator.title} in $checkpoint")
  }

  private[savepoint] def readTask(
      session: SparkSession,
      checkpoint: String,
      offsetMetadata: String,
      operator: OperatorLayout,
      store: StoreLayout,
      uids: Map[Int, String]
  ): StoreTask = {
    val settings = SessionInternals.settingsOfBatch(session, offsetMetadata)
    // In checkpoint format 1 a provider takes whichever attempt is the latest; in format 2 it takes the one it is told.
    settings.setConf(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, if (uids.isEmpty) 1 else 2)
    storeTask(session, checkpoint, operator, store.name, settings)
  }

  private def stateOf(operator: OperatorLayout, store: String, family: String): (StoreLayout, FamilyLayout) =
    operator.store(store).flatMap(found => found.family(family).map(found -> _))
      .getOrElse(throw new NoSuchElementException(s"$store, $family"))

  /** Writes a table as Parquet, with times as they are. */
  def writeParquet(rows: DataFrame, folder: String): Unit = {
    val session = sessionWith(rows.sparkSession, exactTimes.asJava)
    SessionInternals.under(session, rows).write.options(compression).parquet(folder)
  }

  /** A savepoint is waited for: less time than at the level Spark takes, for a few per cent of the size. */
  private val compression = Map("compression" -> "zstd", "parquet.compression.codec.zstd.level" -> "1")

  private val exactTimes = Map(
    SQLConf.PARQUET_REBASE_MODE_IN_WRITE.key -> "CORRECTED",
    SQLConf.PARQUET_INT96_REBASE_MODE_IN_WRITE.key -> "CORRECTED",
    SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE.key -> "TIMESTAMP_MICROS"
  )

  /** A state of a savepoint as a table. Its columns have to be those that the layout says. */
  def readParquet(
      session: SparkSession,
      savepoint: String,
      operator: String,
      store: String,
      family: String
  ): DataFrame = {
    val layout = OperatorLayout.fromJson(operator)
    val (found, kept) = stateOf(layout, store, family)
    SessionInternals.frame(session, files(session, savepoint, layout, found, kept))
  }

  private[savepoint] def files(
      session: SparkSession,
      savepoint: String,
      operator: OperatorLayout,
      store: StoreLayout,
      family: FamilyLayout
  ): StateParquet = {
    val folder = s"$savepoint/${SavepointStates.folder(operator.id, store.nameOf(family))}"
    val wanted = StateColumns.of(operator, family)
    val found = columns(session, folder)
    if (!found.contains(wanted.catalogString)) {
      throw new IncompatibleState(
        s"$folder has the columns ${found.getOrElse("of several states")}; state ${family.name} of ${operator.title} has ${wanted.catalogString}.",
        "give it these columns, in this order."
      )
    }
    new StateParquet(session, folder, operator, family, wanted)
  }

  /** None: its files differ. */
  private def columns(session: SparkSession, folder: String): Option[String] =
    try Some(session.read.option("mergeSchema", "true").parquet(folder).schema.catalogString)
    catch { case e: SparkException if e.getCondition == "CANNOT_MERGE_SCHEMAS" => None }

  /** Gives entries of a state that somebody made, with the columns `key` and `value`, the other columns of one. */
  def place(entries: DataFrame, operator: String, store: String, family: String): DataFrame = {
    val session = entries.sparkSession
    val layout = OperatorLayout.fromJson(operator)
    val state = stateOf(layout, store, family)._2
    val wanted = StateColumns.of(layout, state)
    val (found, due) = (entries.schema, StructType(wanted.fields.drop(2)))
    if (found.catalogString != due.catalogString) {
      throw new IncompatibleState(
        s"The table for state $family of ${layout.title} has the columns ${found.catalogString}; the state has ${due.catalogString}.",
        "cast them: names, types and order have to be the same."
      )
    }
    val groups = maxParallelism(session)
    val rows = SessionInternals.internalRows(entries)
      .mapPartitions(partition => new PlacedEntries(layout, state, found, groups).of(partition))
    SessionInternals.frame(session, rows, wanted)
  }

  /** Writes one store of an operator, all its partitions, from tables in the order of the store's states.
    *
    * @param format
    *   format of the checkpoint: in format 2 a store names the attempt that it made, and Spark's own names its files by
    *   it
    * @return
    *   by partition, the uid of the version written
    */
  def write(
      session: SparkSession,
      checkpoint: String,
      version: Long,
      offsetMetadata: String,
      operator: String,
      store: String,
      parallelism: Int,
      format: Int,
      states: java.util.List[DataFrame]
  ): java.util.List[String] = {
    val settings = SessionInternals.settingsOfBatch(session, offsetMetadata)
    settings.setConf(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, format)
    val task = storeTask(session, checkpoint, OperatorLayout.fromJson(operator), store, settings)
    new StateLoad(task, version, parallelism).run(states.asScala.toSeq).asJava
  }

  /** A state that has no entries yet. */
  def empty(session: SparkSession, operator: String, store: String, family: String): DataFrame = {
    val layout = OperatorLayout.fromJson(operator)
    val state = stateOf(layout, store, family)._2
    SessionInternals.frame(session, session.sparkContext.emptyRDD[InternalRow], StateColumns.of(layout, state))
  }

  private def storeTask(
      session: SparkSession,
      checkpoint: String,
      operator: OperatorLayout,
      store: String,
      settings: SQLConf
  ): StoreTask = {
    // Spark's own store tells the driver of snapshots, when it loads as when it commits: who listens there comes with
    // the session's first query.
    session.streams: Unit
    val configuration = SessionInternals.hadoopConfiguration(session)
    val layout = operator.store(store).getOrElse(throw new NoSuchElementException(store))
    new StoreTask(
      checkpoint,
      operator,
      layout,
      StateStoreConf(settings),
      new SerializableConfiguration(configuration),
      StoreSchemas.of(checkpoint, operator, layout, configuration)
    )
  }

  /** Length, CRC-32C and number of rows of each file, as `length crc32c rows`, read by tasks.
    *
    * @param countRows
    *   whether to count the rows of Parquet files; false for files that may be damaged. Then there is no number
    */
  def checksums(session: SparkSession, files: java.util.List[String], countRows: Boolean): java.util.List[String] = {
    val configuration = new SerializableConfiguration(SessionInternals.hadoopConfiguration(session))
    val all = files.asScala.toSeq
    val tasks = math.max(1, math.min(all.size, session.sparkContext.defaultParallelism * 4))
    session.sparkContext.parallelize(all, tasks).map { file =>
      val path = new Path(file)
      val found = if (countRows && file.endsWith(".parquet")) rows(path, configuration.value) else 0
      s"${checksum(path, configuration.value)} $found"
    }.collect().toSeq.asJava
  }

  private def rows(path: Path, configuration: Configuration): Long = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, configuration))
    try reader.getRecordCount
    finally reader.close()
  }

  private def checksum(path: Path, configuration: Configuration): String = {
    val in = path.getFileSystem(configuration).open(path)
    try {
      val crc = new CRC32C
      val buffer = new Array[Byte](1 << 20)
      var length = 0L
      Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach { read =>
        crc.update(buffer, 0, read)
        length += read
      }
      s"$length ${crc.getValue}"
    } finally in.close()
  }
}
