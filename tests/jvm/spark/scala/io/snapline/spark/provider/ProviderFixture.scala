package io.snapline.spark.provider

import java.io.File
import java.nio.file.Files
import java.util.UUID

import scala.reflect.ClassTag
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.ProviderBase
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{LongType, StructType}

import io.snapline.spark.SnaplineStateStoreProvider
import io.snapline.state.LocalFolder

/** One store in a temporary folder, and as many executors' providers of it as a test needs. Owned by the test, which
  * closes it.
  *
  * @param format
  *   of Spark's checkpoints, 1 or 2
  * @param scheme
  *   of the file system that providers see the folder through, and its class
  */
final class ProviderFixture(format: Int = 1, scheme: Option[(String, Class[_])] = None) extends AutoCloseable {
  import ProviderFixture._

  private val root = Files.createTempDirectory("provider").toFile
  private var opened = Seq.empty[StateStoreProvider]

  /** Of the store. */
  val folder = new File(root, "state/0/0")
  private val location = scheme.fold(root.getPath)(s => s"${s._1}://${root.getPath}") + "/state"

  /** Another executor's provider. */
  def open(settings: (String, String)*): SnaplineStateStoreProvider = open(new SnaplineStateStoreProvider, settings: _*)

  /** One of column families, as for an operator with several states. */
  def openFamilies(
      spec: KeyStateEncoderSpec = spec,
      multi: Boolean = false,
      settings: Seq[(String, String)] = Nil
  ): SnaplineStateStoreProvider = init(new SnaplineStateStoreProvider, settings, true, spec, multi)

  def open[P <: StateStoreProvider](provider: P, settings: (String, String)*): P =
    init(provider, settings, families = false, spec, multi = false)

  private def init[P <: StateStoreProvider](
      provider: P,
      settings: Seq[(String, String)],
      families: Boolean,
      spec: KeyStateEncoderSpec,
      multi: Boolean
  ): P = {
    val (conf, configuration) = configured(settings)
    provider.init(id, schema, schema, spec, families, conf, configuration, multi, None)
    opened :+= provider
    provider
  }

  /** Loads the store as it is loaded ahead of a move. */
  def warm(version: Long, settings: (String, String)*): Unit = {
    val (conf, configuration) = configured(settings)
    WarmStore.leave(id, version, None, UUID.randomUUID(), conf, configuration)
  }

  def id: StateStoreId = StateStoreId(location, 0, 0)

  private def configured(settings: Seq[(String, String)]): (StateStoreConf, Configuration) = {
    val configuration = new Configuration
    configuration.set("sql.streaming.runId", UUID.randomUUID().toString)
    scheme.foreach { case (name, implementation) => configuration.set(s"fs.$name.impl", implementation.getName) }
    val conf = new SQLConf
    conf.setConf(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, format)
    // A test that fails may leave a store open.
    conf.setConfString("spark.sql.streaming.stateStore.rocksdb.lockAcquireTimeoutMs", "2000")
    settings.foreach { case (name, value) =>
      conf.setConfString(name, value)
      configuration.set(name, value)
    }
    (StateStoreConf(conf), configuration)
  }

  /** Every file of the store, and its bytes. */
  def content: Map[String, Seq[Byte]] = contentOf(folder)

  private def contentOf(of: File): Map[String, Seq[Byte]] =
    Option(of.listFiles()).toSeq.flatten.flatMap { file =>
      if (file.isDirectory) contentOf(file).map { case (name, bytes) => s"${file.getName}/$name" -> bytes }
      else Seq(file.getName -> Files.readAllBytes(file.toPath).toSeq)
    }.toMap

  override def close(): Unit = {
    opened.foreach(_.close())
    LocalFolder.delete(root)
  }
}

object ProviderFixture {
  val schema: StructType = new StructType().add("n", LongType)
  val spec: KeyStateEncoderSpec = NoPrefixKeyStateEncoderSpec(schema)

  private val projection = UnsafeProjection.create(schema)

  def row(n: Long): UnsafeRow = synchronized(projection(new GenericInternalRow(Array[Any](n))).copy())

  def using[A](format: Int = 1, scheme: Option[(String, Class[_])] = None)(body: ProviderFixture => A): A =
    Using.resource(new ProviderFixture(format, scheme))(body)

  /** A version's store, which is to make a snapshot when it is committed, or not. */
  def store(provider: StateStoreProvider, of: Version, force: Boolean): StateStore = provider match {
    case own: ProviderBase => own.getStore(of.number, of.id, force, loadEmpty = false)
    case other if !force => other.getStore(of.number, of.id)
    case other => throw new IllegalArgumentException(s"$other makes snapshots when it wants to.")
  }

  /** Makes a version of the rows given, on top of another; what Spark would write into its commit log. */
  def batch(provider: StateStoreProvider, on: Version, force: Boolean = false)(rows: (Long, Long)*): Version = {
    val store = this.store(provider, on, force)
    rows.foreach { case (key, value) => store.put(row(key), row(value)) }
    commit(store)
  }

  def commit(store: StateStore): Version = Version(store.commit(), store.getStateStoreCheckpointInfo().stateStoreCkptId)

  def read(provider: StateStoreProvider, version: Version): Map[Long, Long] = {
    val store = provider.getReadStore(version.number, version.id)
    try rowsOf(store)
    finally store.release()
  }

  def rowsOf(store: ReadStateStore): Map[Long, Long] = {
    val rows = store.iterator()
    try rows.map(pair => pair.key.getLong(0) -> pair.value.getLong(0)).toMap
    finally rows.close()
  }

  /** The error of that kind which the exception is or comes from. */
  def causeOf[E <: Throwable](thrown: Throwable)(implicit kind: ClassTag[E]): E =
    Iterator.iterate(thrown)(_.getCause).takeWhile(_ != null).collectFirst { case kind(e) => e }
      .getOrElse(throw new AssertionError(s"no ${kind.runtimeClass.getSimpleName} in $thrown", thrown))
}

/** @param id None in checkpoint format 1 */
final case class Version(number: Long, id: Option[String])

object Version {
  val Empty: Version = Version(0, None)
}
