package io.snapline.spark.savepoint

import org.json4s.DefaultFormats
import org.json4s.jackson.JsonMethods

import io.snapline.error.StateNotFound

/** An operator of the folder that is begun.
  *
  * @param id
  *   its number there
  * @param layout
  *   layout of the operator whose state it gets; if it begins `empty`, its own
  */
private[savepoint] final case class TargetOperator(
    id: Long,
    partitions: Int,
    layout: OperatorLayout,
    empty: Boolean = false
) {

  /** The layout with the names that Spark's schema files have in the new folder. */
  def moved: OperatorLayout = {
    val names = layout.schemaFiles.map(file => s"state/$id/" + file.stripPrefix(s"state/${layout.id}/"))
    layout.copy(schemaFiles = names)
  }
}

/** A task's part: some partitions of one store, and all that have keys of theirs. */
private[savepoint] final case class StoreShare(
    operator: TargetOperator,
    store: StoreLayout,
    sources: Seq[StoreVersion],
    targets: Seq[Int]
)

/** The reads and writes of a restore.
  *
  * @param versions
  *   versions of all stores whose state is taken
  */
private[savepoint] final case class RestorePlan(operators: Seq[TargetOperator], versions: Seq[StoreVersion]) {
  private val byStore = versions.map(each => (each.id.operator, each.id.store, each.id.partition) -> each).toMap

  def sources(operator: TargetOperator, store: StoreLayout): Seq[StoreVersion] = {
    val layout = operator.layout
    (0 until layout.parallelism).filterNot(_ => operator.empty).map { partition =>
      byStore.getOrElse(
        (layout.id, store.name, partition),
        throw new StateNotFound(
          s"Partition $partition of store ${store.name} of ${layout.title} is not there.",
          "restore the folder from a backup."
        )
      )
    }
  }

  /** A key of partition h mod p goes to h mod q, and those two are equal modulo the greatest common divisor: so each
    * share has the partitions, old and new, of one remainder, and reads nothing in vain. Where that makes fewer shares
    * than there are slots, several read the same.
    */
  def shares(slots: Int): Seq[StoreShare] = for {
    operator <- operators
    store <- operator.layout.stores
    all = sources(operator, store)
    divisor = RestorePlan.gcd(all.size, operator.partitions)
    remainder <- 0 until divisor
    targets = remainder until operator.partitions by divisor
    readers = math.min(targets.size, (slots + divisor - 1) / divisor)
    share <- 0 until readers
  } yield StoreShare(
    operator,
    store,
    (remainder until all.size by divisor).map(all),
    targets.zipWithIndex.collect { case (target, i) if i % readers == share => target }
  )
}

private[savepoint] object RestorePlan {

  def fromJson(text: String): RestorePlan = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    val json = JsonMethods.parse(text)
    val operators = (json \ "operators").children.map { item =>
      val layout = OperatorLayout.fromJson(JsonMethods.compact(item \ "layout"))
      val empty = (item \ "empty").extractOrElse(false)
      TargetOperator((item \ "id").extract[Long], (item \ "partitions").extract[Int], layout, empty)
    }
    RestorePlan(operators, StoreVersion.read(json \ "stores"))
  }

  private def gcd(a: Int, b: Int): Int = if (b == 0) a else gcd(b, a % b)
}
