package io.snapline.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.openjdk.jmh.annotations.*;

import io.snapline.state.heap.*;

/**
 * One get or put of a random key, of maps that are full. Keys come as bytes, as from a row; a value that is put is copied, by whoever keeps it.
 *
 * <p>On a machine that does other work, {@link #main} takes turns and counts the thread's CPU time.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class GetPut {
  private static final int WARM_UP = 6;
  private static final int ROUNDS = 15;
  private static final int OPERATIONS = 100_000;

  @Param({"10000", "1000000"})
  public int entries;

  private byte[][] keys;
  private final byte[] value = new byte[17];
  private final HashMap<Key, byte[]> hashMap = new HashMap<>();
  private final StateMap nested = new NestedStateMap(new HeapAccount(new HeapMemory(0))).namespace(0);
  private final StateMap copyOnWrite =
      new CopyOnWriteStateMap(new SnapshotVersions(() -> scala.runtime.BoxedUnit.UNIT), new HeapAccount(new HeapMemory(0)));
  private int next;

  /** Keeps results alive. */
  private volatile byte[] kept;

  private static final class Key {
    private final byte[] bytes;

    Key(byte[] bytes) {
      this.bytes = bytes;
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(bytes);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Key && Arrays.equals(bytes, ((Key) other).bytes);
    }
  }

  @Setup
  public void fill() {
    Random random = new Random(1);
    keys = new byte[entries][];
    for (int i = 0; i < entries; i++) {
      byte[] key = new byte[18];
      ByteBuffer.wrap(key).putLong(i * 0x9e3779b97f4a7c15L);
      hashMap.put(new Key(key), value.clone());
      nested.put(key, 0, key.length, value, 0, value.length, true);
      copyOnWrite.put(key, 0, key.length, value, 0, value.length, true);
      // Other arrays than those the maps hold.
      keys[i] = key.clone();
    }
    java.util.Collections.shuffle(Arrays.asList(keys), random);
  }

  private byte[] key() {
    next = next + 1 == entries ? 0 : next + 1;
    return keys[next];
  }

  @Benchmark
  public byte[] getHashMap() {
    return hashMap.get(new Key(key())).clone();
  }

  @Benchmark
  public byte[] getNested() {
    byte[] key = key();
    return Row.copyValue(nested.get(key, 0, key.length));
  }

  @Benchmark
  public byte[] getCopyOnWrite() {
    byte[] key = key();
    return Row.copyValue(copyOnWrite.get(key, 0, key.length));
  }

  @Benchmark
  public byte[] putHashMap() {
    value[0]++;
    return hashMap.put(new Key(key()), value.clone());
  }

  @Benchmark
  public void putNested() {
    value[0]++;
    byte[] key = key();
    nested.put(key, 0, key.length, value, 0, value.length, true);
  }

  @Benchmark
  public void putCopyOnWrite() {
    value[0]++;
    byte[] key = key();
    copyOnWrite.put(key, 0, key.length, value, 0, value.length, true);
  }

  /** Prints nanoseconds of CPU per operation, the median over rounds in which the maps take turns. */
  public static void main(String[] arguments) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    for (int entries : new int[] {10_000, 1_000_000}) {
      GetPut bench = new GetPut();
      bench.entries = entries;
      bench.fill();
      Map<String, Runnable> operations = new LinkedHashMap<>();
      operations.put("get HashMap", () -> bench.kept = bench.getHashMap());
      operations.put("get NestedStateMap", () -> bench.kept = bench.getNested());
      operations.put("get CopyOnWriteStateMap", () -> bench.kept = bench.getCopyOnWrite());
      operations.put("put HashMap", () -> bench.kept = bench.putHashMap());
      operations.put("put NestedStateMap", bench::putNested);
      operations.put("put CopyOnWriteStateMap", bench::putCopyOnWrite);
      Map<String, double[]> rounds = new LinkedHashMap<>();
      operations.keySet().forEach(name -> rounds.put(name, new double[ROUNDS]));
      for (int round = -WARM_UP; round < ROUNDS; round++) {
        for (Map.Entry<String, Runnable> operation : operations.entrySet()) {
          long began = threads.getCurrentThreadCpuTime();
          for (int i = 0; i < OPERATIONS; i++) operation.getValue().run();
          double each = (threads.getCurrentThreadCpuTime() - began) / (double) OPERATIONS;
          if (round >= 0) rounds.get(operation.getKey())[round] = each;
        }
      }
      rounds.forEach(
          (name, figures) -> {
            Arrays.sort(figures);
            System.out.printf("%,d entries, %s: %.1f ns of CPU%n", entries, name, figures[ROUNDS / 2]);
          });
    }
  }
}
