package io.snapline.spark.ui

import java.util.UUID
import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

import org.apache.spark.SparkContext
import org.apache.spark.ui.snapline.UiInternals

import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.error.UriPassword
import io.snapline.spark.coordinator.{CheckpointObserver, CheckpointObservers}
import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.page.TabPage

/** The Checkpoints tab of one application: made when its first query with checkpoints is started, so that no other
  * application has it. Owns the thread that tells the listener bus. Where Spark has no user interface, what happens
  * still goes to the event log.
  */
private[spark] final class CheckpointsUi(context: SparkContext, settings: UiSettings) extends CheckpointObservers {
  private val worker: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { (task: Runnable) =>
    val thread = new Thread(task, "snapline-ui")
    thread.setDaemon(true)
    thread
  }

  if (settings.enabled && UiInternals.hasUi(context)) {
    val store = UiInternals.store(context)
    context.addSparkListener(new CheckpointsListener(store, settings))
    UiInternals.attach(context, CheckpointsUi.pages(new CheckpointsStore(store)))
  }

  override def observer(
      folder: String,
      coordinator: CoordinatorSettings,
      durableBatches: Boolean,
      nameOf: UUID => Option[String]
  ): CheckpointObserver =
    if (!settings.enabled) CheckpointObserver.None
    else {
      val start = CheckpointReporter.Start(
        UUID.randomUUID().toString,
        UriPassword.hide(folder),
        ConfigRecord.of(coordinator, durableBatches)
      )
      new CheckpointReporter(start, worker, UiInternals.post(context, _), nameOf)
    }

  /** Tells what is left to tell: the listener bus stops after this. */
  override def close(): Unit = {
    worker.shutdown()
    worker.awaitTermination(CheckpointsUi.CloseWaitMs, TimeUnit.MILLISECONDS): Unit
  }
}

object CheckpointsUi {
  private val CloseWaitMs = 5000L

  def open(context: SparkContext): CheckpointsUi =
    new CheckpointsUi(context, UiSettings.read(context.getConf.getAll.toMap))

  def pages(store: CheckpointsStore): Seq[TabPage] =
    Seq(new QueriesPage(store), new QueryPage(store), new CheckpointPage(store))
}
