package io.snapline.bench;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.openjdk.jmh.annotations.*;

import io.snapline.state.ChangeSink;
import io.snapline.state.ColumnFamily;
import io.snapline.state.PendingSnapshot;
import io.snapline.state.heap.HeapBackend;
import io.snapline.state.heap.HeapMemory;
import io.snapline.state.heap.HeapSettings;

/** What a task waits for a snapshot of the copy-on-write map: an image, the most there is to note. */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 100)
@Measurement(iterations = 300)
public class SyncPhase {
  private static final int CHANGES = 2000;
  private static final ChangeSink NOWHERE = (entries, offset, length, count) -> {};

  @Param({"10000", "100000", "1000000"})
  public int entries;

  private final Random random = new Random(1);
  private final byte[] key = new byte[18];
  private final byte[] value = new byte[17];
  private File folder;
  private HeapBackend backend;
  private ColumnFamily family;
  private PendingSnapshot pending;

  @Setup
  public void fill() throws IOException {
    folder = Files.createTempDirectory("snapline-bench").toFile();
    backend = new HeapBackend(folder, false, new HeapSettings(true, true, 0.5, 65536, 0), new HeapMemory(0));
    backend.beginChanges(NOWHERE);
    family = backend.createFamily("default", false, false, false);
    for (int i = 0; i < entries; i++) put(i);
  }

  /** The batch before. The snapshot before that is given up, so that this one is an image again. */
  @Setup(Level.Invocation)
  public void change() {
    if (pending != null) pending.discard();
    for (int i = 0; i < CHANGES; i++) put(random.nextInt(entries));
    backend.cutChanges();
    backend.beginChanges(NOWHERE);
  }

  private void put(int n) {
    ByteBuffer.wrap(key).putLong(n * 0x9e3779b97f4a7c15L);
    ByteBuffer.wrap(value).putInt(random.nextInt());
    family.put(key, value);
  }

  @Benchmark
  public PendingSnapshot snapshot() {
    pending = backend.snapshot();
    return pending;
  }

  @TearDown
  public void close() {
    backend.close();
    folder.delete();
  }
}
