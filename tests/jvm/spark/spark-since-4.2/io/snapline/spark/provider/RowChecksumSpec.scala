package io.snapline.spark.provider

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.store.{StateSettings, StoreContext, StoreFixture, VersionedState}
import io.snapline.spark.provider.ProviderFixture._
import io.snapline.storage.HadoopCheckpointStorage

/** Spark's checksum with every row: `spark.sql.streaming.stateStore.rowChecksum.enabled`. */
class RowChecksumSpec extends AnyFunSuite {
  private val name = "spark.sql.streaming.stateStore.rowChecksum"

  private def checksums(ratio: Int): Seq[(String, String)] =
    Seq(s"$name.enabled" -> "true", s"$name.readVerificationRatio" -> ratio.toString)

  /** Turns a bit in the value of the first row, in files that are sound: what a fault in memory leaves behind. */
  private def damage(fixture: ProviderFixture, version: Version): Version = {
    val backends = new StoreFixture()
    val storage = new HadoopCheckpointStorage(new Path(fixture.folder.toURI), new Configuration)
    val state = new VersionedState(
      StoreContext(storage, StateSettings(), StoreFixture.origin),
      backends.factory,
      StoreFixture.pool,
      _ => ()
    )
    try {
      state.load(version.number, version.id)
      val family = state.backend.family(StateStore.DEFAULT_COL_FAMILY_NAME)
      val rows = family.iterate()
      assert(rows.next())
      val value = rows.value
      value(value.length - 1) = (value.last ^ 1).toByte
      family.put(rows.key, value)
      rows.close()
      val ref = state.commit()
      Version(ref.version, version.id.map(_ => ref.uid))
    } finally {
      state.close()
      backends.close()
    }
  }

  for (format <- 1 to 2) {
    test(s"format $format: rows come back from every kind of read") {
      using(format) { fixture =>
        val provider = fixture.open(checksums(1): _*)
        val rows = (0L until 50L).map(n => n -> n * n)
        val version = batch(provider, Version.Empty)(rows: _*)
        for (reader <- Seq(provider, fixture.open(checksums(1): _*))) {
          assert(read(reader, version) == rows.toMap)
          val store = reader.getReadStore(version.number, version.id)
          assert(rows.forall { case (key, value) => store.get(row(key)).getLong(0) == value })
          val many = store.multiGet(rows.map(r => row(r._1)).toArray, StateStore.DEFAULT_COL_FAMILY_NAME)
          assert(many.map(_.getLong(0)).toSeq == rows.map(_._2))
          assert(store.get(row(1000)) == null)
          store.release()
        }
      }
    }

    test(s"format $format: a row that changed in between is found when it is read, and is not when nobody looks") {
      using(format) { fixture =>
        val sound = batch(fixture.open(checksums(1): _*), Version.Empty)(1L -> 1L)
        val damaged = damage(fixture, sound)
        val provider = fixture.open(checksums(1): _*)
        Seq[StateStore => Any](
          _.get(row(1)),
          _.multiGet(Array(row(1)), StateStore.DEFAULT_COL_FAMILY_NAME).toSeq,
          rowsOf
        ).foreach { reading =>
          val store = provider.getStore(damaged.number, damaged.id)
          val thrown = intercept[Exception](reading(store))
          assert(thrown.getMessage.contains("STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED"))
          store.abort()
        }
        assert(read(fixture.open(checksums(0): _*), damaged).keySet == Set(1L))
        assert(read(provider, sound) == Map(1L -> 1L))
      }
    }
  }
}
