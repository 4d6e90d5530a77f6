package io.snapline.snapshot.store

import java.util.Arrays

import scala.collection.immutable.{SortedMap, TreeMap}

import org.scalacheck.Gen
import org.scalactic.anyvals.PosInt
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.snapline.Cases
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener}
import io.snapline.state.{ColumnFamily, RowCursor}
import io.snapline.storage.CheckpointStorage

/** Random operations, commits, aborts, reloads, clean-ups and other executors against a plain map, in both of Spark's
  * checkpoint formats.
  *
  * More of it, in the sbt shell: `set core / Test / javaOptions += "-Dsnapline.test.runs=100"`. A failure names the
  * seed it began with.
  */
abstract class StoreModelOn(backend: TestBackend) extends AnyFunSuite with ScalaCheckPropertyChecks {
  import StoreModelSpec._

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful =
      PosInt.ensuringValid(sys.props.getOrElse("snapline.test.runs", if (Cases.whole) "5" else "2").toInt)
    )

  private val usual = StateSettings(retain = 4, minStale = 1, policy = SnapshotPolicy(minChangelogs = 3))

  /** Where one store's files are. */
  protected def storage(files: CheckpointStorage): CheckpointStorage = files

  for (
    (name, tableBytes, settings) <- Seq(
      ("roomy table", 64L << 20, usual),
      ("no room in the table", 0L, usual),
      ("uncompressed", 0L, usual.copy(compress = false)),
      ("short table files in the handle", 0L, usual.copy(inlineThreshold = 1500)),
      ("whole snapshots", 0L, usual.copy(incremental = false)),
      ("snapshots alone", 0L, usual.copy(changelog = false))
    ).filter(room => room._2 == 0L || backend == TestBackend.RocksDb);
    format <- 1 to 2
  ) {
    test(s"a store behaves as a map: $name, checkpoint format $format") {
      forAll(Gen.listOfN(200, step)) { steps =>
        val fixture = new StoreFixture(settings, tableBytes, storage, backend = backend)
        try new Run(fixture, format).play(steps)
        finally fixture.close()
      }
    }
  }

  for (
    (name, merging, settings) <- Seq(
      ("handles of their own", false, usual),
      ("merged handles", true, usual),
      ("no copies on the executor", false, usual.copy(localBackup = false)),
      ("short table files in the handle", false, usual.copy(inlineThreshold = 1500))
    );
    format <- 1 to 2
  ) {
    test(s"a store under an interval behaves as a map: $name, checkpoint format $format") {
      forAll(Gen.listOfN(200, step)) { steps =>
        val fixture = new StoreFixture(settings, 0L, storage, backend = backend, merging = merging)
        try new Run(fixture, format, interval = true).play(steps)
        finally fixture.close()
      }
    }
  }
}

object StoreModelSpec {
  sealed trait Step
  final case class Put(family: Int, key: Int, length: Int) extends Step
  final case class Merge(key: Int, length: Int) extends Step
  final case class Delete(family: Int, key: Int) extends Step
  final case class DeleteRange(from: Int, until: Int) extends Step
  final case class Get(family: Int, key: Int) extends Step
  final case class MultiGet(family: Int, keys: Seq[Int]) extends Step
  final case class Prefix(family: Int, of: Int) extends Step
  final case class Range(family: Int, from: Int, until: Int) extends Step
  case object All extends Step
  final case class Commit(force: Boolean) extends Step

  /** A batch that is run again when its version is committed, as a task that is retried is.
    *
    * @param checkpoint
    *   whether the first attempt makes a snapshot
    * @param awaited
    *   whether it is durable when the second one begins
    */
  final case class CommitTwice(key: Int, checkpoint: Boolean, awaited: Boolean) extends Step
  case object Abort extends Step
  case object Reopen extends Step

  /** A store of another run goes on; with the state as it is open, if nothing was changed since a commit. */
  final case class HandOver(commits: Boolean) extends Step

  /** A store elsewhere loads the state as it is now. A later store goes on with it and the changelogs since, if no
    * other attempt came between.
    */
  case object Ahead extends Step
  case object CatchUp extends Step
  final case class Rollback(versions: Int) extends Step
  case object CleanUp extends Step
  case object RemoveFamily extends Step

  /** Another executor makes the next version. Where this one makes it too, only format 2 can tell which counts. */
  final case class Elsewhere(key: Int, counts: Boolean) extends Step

  private val keys = Gen.choose(0, 300)
  private val families = Gen.choose(0, 2)
  private val lengths = Gen.frequency(8 -> Gen.choose(0, 40), 1 -> Gen.choose(1000, 300000))

  val step: Gen[Step] = Gen.frequency(
    30 -> Gen.zip(families, keys, lengths).map(Put.tupled),
    10 -> Gen.zip(keys, Gen.choose(1, 30)).map(Merge.tupled),
    10 -> Gen.zip(families, keys).map(Delete.tupled),
    1 -> Gen.zip(keys, keys).map { case (a, b) => DeleteRange(a min b, a max b) },
    15 -> Gen.zip(families, keys).map(Get.tupled),
    3 -> Gen.zip(families, Gen.listOfN(12, keys)).map(MultiGet.tupled),
    8 -> Gen.zip(families, keys).map(Prefix.tupled),
    3 -> Gen.zip(families, keys, keys).map { case (f, a, b) => Range(f, a min b, a max b) },
    2 -> Gen.const(All),
    14 -> Gen.frequency(9 -> false, 1 -> true).map(Commit),
    4 -> Gen.zip(keys, Gen.oneOf(true, false), Gen.oneOf(true, true, false)).map(CommitTwice.tupled),
    2 -> Gen.const(Abort),
    2 -> Gen.const(Reopen),
    2 -> Gen.oneOf(true, false).map(HandOver),
    2 -> Gen.const(Ahead),
    2 -> Gen.const(CatchUp),
    2 -> Gen.choose(1, 3).map(Rollback),
    2 -> Gen.const(CleanUp),
    1 -> Gen.const(RemoveFamily),
    2 -> Gen.zip(keys, Gen.oneOf(true, false)).map(Elsewhere.tupled)
  )

  type Bytes = Vector[Byte]
  private val unsigned: Ordering[Bytes] = (a, b) => Arrays.compareUnsigned(a.toArray, b.toArray)
  type Rows = SortedMap[Bytes, Bytes]
  private val noRows: Rows = TreeMap.empty[Bytes, Bytes](unsigned)
  type Model = Map[Int, Rows]
  private val Multi = 2

  /** The family whose keys tell how long their prefix is. */
  private val Prefixed = 0
  private val PrefixBytes = 2
  private val nothing: Model = Map(0 -> noRows, 1 -> noRows, Multi -> noRows)

  /** Two bytes of prefix so that prefix scans have something to find. */
  private def key(n: Int): Bytes = Vector((n % 2).toByte, (n >> 4).toByte, n.toByte)

  private object NoOne extends SnapshotListener {
    override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit = mayReuse()
    override def failed(reason: Exception): Unit = ()
  }

  /** @param interval
    *   versions are in the executor's folder; then nobody else can load them, and snapshots are those of checkpoints
    */
  final class Run(fixture: StoreFixture, format: Int, interval: Boolean = false) {
    private val names = Map(0 -> "default", 1 -> "other", Multi -> "multi")
    private var state = fixture.open()
    private var committed = Map(0L -> nothing)
    private var refs = Map.empty[Long, VersionRef]
    private var version = 0L
    private var now = nothing
    private var count = 0
    private var kept = 0L
    private var behind = Option.empty[VersionedState]
    load()

    private def load(leftOpen: LeftOpen = LeftOpen.nothing): Unit = {
      loadInto(state, leftOpen)
      now = committed(version)
    }

    private def loadInto(into: VersionedState, leftOpen: LeftOpen = LeftOpen.nothing): Unit = {
      // Format 1 names no attempt.
      val uid = refs.get(version).map(_.uid).filter(_ => format == 2)
      into.load(version, uid, interval = interval, leftOpen = leftOpen)
      names.foreach { case (id, name) =>
        val family = into.backend.createFamily(name, keyGroups = false, multi = id == Multi, internal = false)
        if (id == Prefixed) family.hasPrefixes((_, _, _) => PrefixBytes)
      }
    }

    private def next(ref: VersionRef, model: Model): Unit = {
      assert(ref.version == version + 1)
      version += 1
      refs += version -> ref
      committed += version -> model
      load()
    }

    private def family(id: Int): ColumnFamily = state.backend.family(names(id))
    private def value(length: Int): Bytes = {
      count += 1; Vector.tabulate(length)(i => (count + i * (length % 7)).toByte)
    }

    def play(steps: Seq[Step]): Unit = {
      steps.foreach {
        case Reopen | HandOver(_) | Ahead | CatchUp | Rollback(_) | Elsewhere(_, _) if interval => take(Abort)
        case step =>
          try take(step)
          catch { case e: AssertionError => throw new AssertionError(s"$step: ${e.getMessage}", e) }
      }
      (0 to 2).foreach(compareAll)
    }

    private def take(step: Step): Unit = {
      step match {
        case Put(f, k, length) =>
          val v = value(length)
          family(f).put(key(k).toArray, v.toArray)
          now += f -> now(f).updated(key(k), v)
        case Merge(k, length) =>
          val v = value(length)
          family(Multi).merge(key(k).toArray, v.toArray)
          now += Multi -> now(Multi).updated(key(k), now(Multi).getOrElse(key(k), Vector.empty) ++ v)
        case Delete(f, k) =>
          assert(family(f).delete(key(k).toArray) == now(f).contains(key(k)))
          now += f -> now(f).removed(key(k))
        case DeleteRange(a, b) =>
          val (from, until) = order(key(a), key(b))
          family(1).deleteRange(from.toArray, until.toArray)
          now += 1 -> now(1).filterNot { case (k, _) => unsigned.gteq(k, from) && unsigned.lt(k, until) }
        case Get(f, k) =>
          same(family(f).get(key(k).toArray), now(f).get(key(k)))
          assert(family(f).contains(key(k).toArray) == now(f).contains(key(k)))
        case MultiGet(f, ks) =>
          val found = family(f).multiGet(ks.map(key(_).toArray).toArray)
          ks.indices.foreach(i => same(found(i), now(f).get(key(ks(i)))))
        case Prefix(f, p) =>
          val prefix = key(p).take(if (f == Prefixed) PrefixBytes else 1)
          compare(family(f).prefixScan(prefix.toArray), now(f).filter(_._1.startsWith(prefix)))
        case Range(f, a, b) =>
          val (from, until) = order(key(a), key(b))
          compare(
            family(f).rangeScan(from.toArray, until.toArray),
            now(f).filter { case (k, _) => unsigned.gteq(k, from) && unsigned.lt(k, until) }
          )
        case All => (0 to 2).foreach(compareAll)
        case Commit(force) => next(commit(force), now)
        case CommitTwice(k, checkpoint, awaited) =>
          val first = commit(checkpoint)
          if (awaited) state.awaitSnapshot(): Unit
          load()
          (0 to 2).foreach(compareAll)
          val v = value(9)
          family(0).put(key(k).toArray, v.toArray)
          now += 0 -> now(0).updated(key(k), v)
          val second = commit(!checkpoint)
          assert(second.version == first.version && second.uid > first.uid)
          next(second, now)
        case Abort =>
          state.abort()
          load()
        case Reopen =>
          state.awaitSnapshot(): Unit
          state.close()
          state = fixture.open()
          load()
        case HandOver(commits) =>
          if (commits) next(state.commit(), now)
          state.awaitSnapshot(): Unit
          val changed = now != committed(version)
          val left = new LeftState(state)
          state = fixture.open()
          load(left)
          assert(if (commits) left.isTaken else !(changed && left.isTaken))
        case Ahead =>
          behind.foreach(_.close())
          val other = fixture.open()
          loadInto(other)
          other.abort()
          behind = Some(other).filter(_.current.isDefined)
        case CatchUp =>
          next(state.commit(), now)
          state.awaitSnapshot(): Unit
          state.close()
          state = fixture.open()
          load(behind.fold(LeftOpen.nothing)(new LeftState(_)))
          behind = None
        case Rollback(versions) =>
          version = math.max(kept, version - versions)
          refs = refs.filter(_._1 <= version)
          state.abort()
          load()
        case CleanUp =>
          state.awaitSnapshot(): Unit
          state.cleanUp()
          // The newest four versions stay.
          kept = math.max(kept, version - 3)
        case RemoveFamily =>
          state.backend.removeFamily("other")
          state.backend.createFamily("other", keyGroups = false, multi = false, internal = false)
          now += 1 -> noRows
        case Elsewhere(k, counts) =>
          val other = fixture.open()
          loadInto(other)
          val v = value(9)
          other.backend.family(names(0)).put(key(k).toArray, v.toArray)
          val ref = other.commit()
          other.close()
          if (counts || format == 1) {
            if (format == 1) state.abort() else state.commit(): Unit
            next(ref, committed(version) + (0 -> committed(version)(0).updated(key(k), v)))
          }
      }
      (0 to 2).foreach(f => assert(family(f).keyCount == now(f).size, s"keys of family $f after $step"))
    }

    private def commit(snapshot: Boolean): VersionRef =
      if (interval) state.commit(checkpoint = Option.when(snapshot)(NoOne)) else state.commit(snapshot)

    private def order(a: Bytes, b: Bytes): (Bytes, Bytes) = if (unsigned.lteq(a, b)) (a, b) else (b, a)

    private def compareAll(f: Int): Unit = compare(family(f).iterate(), now(f))

    private def compare(cursor: RowCursor, expected: Rows): Unit = {
      val rows = Vector.newBuilder[(Bytes, Bytes)]
      while (cursor.next()) rows += cursor.key.toVector -> cursor.value.toVector
      assert(rows.result() == expected.toVector)
    }

    private def same(found: Array[Byte], expected: Option[Bytes]): Unit =
      assert(Option(found).map(_.toVector) == expected)
  }
}

class StoreModelSpec extends StoreModelOn(TestBackend.RocksDb)

class StoreModelOnHashMapSpec extends StoreModelOn(TestBackend.HashMap)

class StoreModelOnNestedHashMapSpec extends StoreModelOn(TestBackend.NestedHashMap)
