package io.snapline.state.heap;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A row is one array: stamp, place, key length and value length (four bytes each), key, value. In Java, because Scala boxes what a VarHandle returns.
 *
 * <p>Stamp: the map's version the row was last changed in. Place: its position in the list of that version's changes. The array may be longer than the row.
 */
public final class Row {
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int PLACE = 4;
  private static final int KEY_LENGTH = 8;
  private static final int VALUE_LENGTH = 12;
  public static final int KEY = 16;

  private Row() {}

  /** Spare bytes behind the value are for what is appended to it. */
  static byte[] make(byte[] key, int keyOffset, int keyLength, int valueLength, int spare) {
    byte[] row = new byte[Math.addExact(Math.addExact(KEY + keyLength, valueLength), spare)];
    INTS.set(row, KEY_LENGTH, keyLength);
    INTS.set(row, VALUE_LENGTH, valueLength);
    System.arraycopy(key, keyOffset, row, KEY, keyLength);
    return row;
  }

  static int stamp(byte[] row) {
    return (int) INTS.get(row, 0);
  }

  static int place(byte[] row) {
    return (int) INTS.get(row, PLACE);
  }

  static void mark(byte[] row, int stamp, int place) {
    INTS.set(row, 0, stamp);
    INTS.set(row, PLACE, place);
  }

  public static int keyLength(byte[] row) {
    return (int) INTS.get(row, KEY_LENGTH);
  }

  public static int valueLength(byte[] row) {
    return (int) INTS.get(row, VALUE_LENGTH);
  }

  public static int valueAt(byte[] row) {
    return KEY + keyLength(row);
  }

  static void setValueLength(byte[] row, int length) {
    INTS.set(row, VALUE_LENGTH, length);
  }

  static byte[] copyKey(byte[] row) {
    return Arrays.copyOfRange(row, KEY, valueAt(row));
  }

  public static byte[] copyValue(byte[] row) {
    int at = valueAt(row);
    return Arrays.copyOfRange(row, at, at + valueLength(row));
  }

  static boolean hasKey(byte[] row, byte[] key, int offset, int length) {
    return keyLength(row) == length
        && Arrays.equals(row, KEY, KEY + length, key, offset, offset + length);
  }

  /** Unsigned byte order of the row's key against a key. */
  static int compare(byte[] row, byte[] key, int offset, int length) {
    return Arrays.compareUnsigned(row, KEY, valueAt(row), key, offset, offset + length);
  }

  static int compare(byte[] row, byte[] other) {
    return compare(row, other, KEY, keyLength(other));
  }

  /** Whether a value of this length may stand in the row's array without much waste. */
  static boolean fits(byte[] row, int valueLength) {
    int left = row.length - valueAt(row) - valueLength;
    return left == 0 || (left > 0 && left <= Math.max(16, valueLength / 2));
  }

  /** Whether so many bytes may be put behind the value. */
  static boolean hasRoom(byte[] row, int more) {
    return row.length - valueAt(row) - valueLength(row) >= more;
  }

  /** The same row with room for so many bytes and for as many again as half of its value has. */
  static byte[] extended(byte[] row, int more) {
    int length = valueLength(row);
    int needed = Math.addExact(length, more);
    byte[] wider = make(row, KEY, keyLength(row), length, Math.addExact(more, needed / 2));
    System.arraycopy(row, valueAt(row), wider, valueAt(row), length);
    return wider;
  }

  static void append(byte[] row, byte[] value, int offset, int length) {
    int before = valueLength(row);
    System.arraycopy(value, offset, row, valueAt(row) + before, length);
    setValueLength(row, before + length);
  }
}
