package io.snapline.bench;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.openjdk.jmh.annotations.*;

import io.snapline.state.heap.*;

/** One get or put of a random key, of maps that are full. Keys come as bytes, as from a row; a value that is put is copied, by whoever keeps it. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class GetPut {

  @Param({"10000", "1000000"})
  public int entries;

  private byte[][] keys;
  private final byte[] value = new byte[17];
  private final HashMap<Key, byte[]> hashMap = new HashMap<>();
  private final StateMap nested = new NestedStateMap(new HeapAccount(new HeapMemory(0))).namespace(0);
  private final StateMap copyOnWrite =
      new CopyOnWriteStateMap(new SnapshotVersions(() -> scala.runtime.BoxedUnit.UNIT), new HeapAccount(new HeapMemory(0)));
  private int next;

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
}
