package io.snapline.spark.protocol

import io.snapline.checkpoint.StoreId
import io.snapline.error.InternalError
import io.snapline.snapshot.format.VersionRef

/** A version that a task has made and that came to its good end, and whose changes nobody but its executor has. */
final case class HeldStore(run: String, store: StoreId, ref: VersionRef)

/** An executor reports that it lives and which stores it holds. The answer is an array of orders, as texts (HolderOrder).
  *
  * @param runs
  *   runs of all stores that it holds
  * @param stores
  *   stores that it has not reported before. May come twice
  */
final case class HoldersReport(executor: String, runs: Seq[String], stores: Seq[HeldStore])

/** An order of the driver to an executor that holds stores. It travels as text: an executor that has our jar from `spark.jars`
  * can read answers of Java's own classes only.
  */
sealed trait HolderOrder {
  private[spark] def text: String
}

object HolderOrder {

  /** Make a snapshot of this version for a checkpoint. May come twice. */
  final case class Take(query: String, run: String, store: StoreId, ref: VersionRef, checkpoint: Long)
      extends HolderOrder {
    override private[spark] def text: String =
      s"take $query $run ${store.operator} ${store.partition} ${store.store} ${ref.version} ${ref.uid} $checkpoint"
  }

  /** No coordinator of this driver will ask for anything of the run. */
  final case class Forget(run: String) extends HolderOrder {
    override private[spark] def text: String = s"forget $run"
  }

  private[spark] def parse(text: String): HolderOrder = text.split(' ') match {
    case Array("take", query, run, operator, partition, store, version, uid, checkpoint) =>
      val id = StoreId(operator.toLong, partition.toInt, store)
      Take(query, run, id, VersionRef(version.toLong, uid), checkpoint.toLong)
    case Array("forget", run) => Forget(run)
    case _ => throw new InternalError(s"$text is no order.")
  }
}
