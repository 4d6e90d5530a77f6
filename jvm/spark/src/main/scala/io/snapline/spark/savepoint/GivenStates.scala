package io.snapline.spark.savepoint

import java.util.Arrays

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.streaming.state.StateSchemaProvider

import io.snapline.spark.operator.state.OperatorStateSpec
import io.snapline.state.FamilyDescriptor

/** Rows of a family for one store, in the order of their keys. */
private[savepoint] final case class GivenRows(family: FamilyDescriptor, rows: Seq[(Array[Byte], Array[Byte])])

/** The states of an operator that are not spread by a key: they are small. The driver gathers them and deals them to
  * the partitions.
  *
  * @param everywhere
  *   rows for every partition
  * @param dealt
  *   rows by partition
  */
private[savepoint] final case class GivenStates(everywhere: Seq[GivenRows], dealt: Map[Int, Seq[GivenRows]]) {
  def of(partition: Int): Seq[GivenRows] = everywhere ++ dealt.getOrElse(partition, Nil)
}

private[savepoint] object GivenStates {
  val Nothing: GivenStates = GivenStates(scala.Nil, Map.empty)

  def isGiven(family: FamilyLayout): Boolean = family.placement match {
    case Placement.Every | Placement.Dealt(_) => true
    case _ => false
  }

  /** Rows of a partition, with the name and the position of those that are dealt out. */
  private final case class Found(partition: Int, family: FamilyDescriptor, rows: Seq[(Array[Byte], Array[Byte])])

  /** Runs a job if the store has such states. */
  def gather(
      context: SparkContext,
      reader: StoredRows,
      operator: TargetOperator,
      store: StoreLayout,
      sources: Seq[StoreVersion],
      schemas: Option[StateSchemaProvider]
  ): GivenStates = {
    val keyless = store.families.filter(isGiven)
    if (keyless.isEmpty || sources.isEmpty) Nothing
    else {
      val placements = keyless.map(family => family.name -> family.placement).toMap
      val found = context.parallelize(sources, sources.size).flatMap(read(reader, _, placements)).collect().toSeq
      val encodings = reader.encodings(operator.layout, store, schemas)
      GivenStates(
        found.filter(each => placements(each.family.name) == Placement.Every).map(each => rows(each.family, each.rows)),
        deal(operator, keyless, found, encodings)
      )
    }
  }

  /** Where all partitions have the same, that of the first is taken. */
  private def read(reader: StoredRows, source: StoreVersion, placements: Map[String, Placement]): Seq[Found] =
    reader.inFolder("snapline-operator-state") { local =>
      reader.reading(source, local) { families =>
        for {
          family <- families
          placement <- placements.get(family.descriptor.name).toSeq
          if placement != Placement.Every || source.id.partition == 0
        } yield {
          val rows = Seq.newBuilder[(Array[Byte], Array[Byte])]
          val cursor = family.iterate()
          try while (cursor.next()) rows += cursor.key -> cursor.value
          finally cursor.close()
          Found(source.id.partition, family.descriptor, rows.result())
        }
      }
    }

  /** Each state takes its turn where the one before it, by name, left off. */
  private def deal(
      operator: TargetOperator,
      families: Seq[FamilyLayout],
      found: Seq[Found],
      encodings: Encodings
  ): Map[Int, Seq[GivenRows]] = {
    val position = UnsafeProjection.create(OperatorStateSpec.position)
    val lists = families.collect { case family @ FamilyLayout(_, _, _, _, _, Placement.Dealt(union), _) =>
      family -> union
    }
    val dealt =
      lists.sortBy(_._1.name).foldLeft((Seq.empty[(Int, GivenRows)], 0)) { case ((all, start), (family, union)) =>
        val parts = found.filter(_.family.name == family.name)
        val counts = parts.map(part => part.partition -> part.rows.size.toLong).toMap
        val dealing = Dealing(union, counts, operator.layout.parallelism, operator.partitions, start)
        val codec = encodings.of(family)
        val placed = for {
          part <- parts
          (key, value) <- part.rows
          (target, at) <- dealing.places(part.partition, codec.decodeKey(key).getLong(0))
        } yield {
          val element = codec.decodeValue(key, value).copy()
          codec.encodeKey(position(InternalRow(at)))
          codec.encodeValue(element)
          target -> (codec.key.copy -> codec.value.copy)
        }
        val byTarget = placed.groupMap(_._1)(_._2).map { case (target, each) =>
          target -> rows(parts.head.family, each)
        }
        (all ++ byTarget, dealing.nextStart)
      }
    dealt._1.groupMap(_._1)(_._2)
  }

  private def rows(family: FamilyDescriptor, rows: Seq[(Array[Byte], Array[Byte])]): GivenRows =
    GivenRows(family, rows.sortWith((a, b) => Arrays.compareUnsigned(a._1, b._1) < 0))
}
