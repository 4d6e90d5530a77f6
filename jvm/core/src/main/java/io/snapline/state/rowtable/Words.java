package io.snapline.state.rowtable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Eight bytes of an array at once. In Java, because Scala boxes what a VarHandle returns. */
final class Words {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private Words() {}

  static long get(byte[] bytes, int offset) {
    return (long) LONGS.get(bytes, offset);
  }
}
