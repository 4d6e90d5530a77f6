# mypy: disable-error-code="import-not-found"
import pytest
from snapline_bench.jvm_profile import part_of, task_stacks

PRINTED = """jdk.ExecutionSample {
  startTime = 18:12:01.000 (2026-11-27)
  sampledThread = "Executor task launch worker-0" (javaThreadId = 60)
  state = "STATE_RUNNABLE"
  stackTrace = [
    java.util.HashMap.get(Object) line: 5
    io.snapline.state.rocks.RowTable.get(byte[], int, int) line: 7
    org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec.next() line: 9
    ...
  ]
}

jdk.NativeMethodSample {
  startTime = 18:12:01.010 (2026-11-27)
  sampledThread = "Executor task launch worker-0" (javaThreadId = 60)
  state = "STATE_RUNNABLE"
  stackTrace = [
    sun.nio.ch.Net.poll(FileDescriptor, int, long) line: 0
  ]
}

jdk.NativeMethodSample {
  startTime = 18:12:01.010 (2026-11-27)
  sampledThread = "Executor task idle worker#1" (javaThreadId = 61)
  state = "STATE_RUNNABLE"
  stackTrace = [
    org.rocksdb.RocksDB.get(long, byte[], int, int, long) line: 0
    io.snapline.state.rocks.RocksDbFamily.get(byte[]) line: 3
  ]
}

jdk.ExecutionSample {
  startTime = 18:12:01.020 (2026-11-27)
  sampledThread = "stream execution thread for [id = 1]" (javaThreadId = 40)
  state = "STATE_RUNNABLE"
  stackTrace = [
    org.apache.spark.sql.catalyst.trees.TreeNode.map(Function1) line: 1
  ]
}

"""


def test_samples_of_tasks_that_run() -> None:
    assert list(task_stacks(PRINTED)) == [
        [
            "java.util.HashMap.get",
            "io.snapline.state.rocks.RowTable.get",
            "org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec.next",
        ],
        ["org.rocksdb.RocksDB.get", "io.snapline.state.rocks.RocksDbFamily.get"],
    ]


@pytest.mark.parametrize(
    ("frames", "part"),
    [
        (["java.util.HashMap.get", "io.snapline.state.rocks.RowTable.get", "org.apache.parquet.A.b"], "state"),
        (["net.jpountz.lz4.A.b", "org.apache.spark.sql.execution.streaming.state.A.b"], "shuffle"),
        (["org.apache.spark.sql.execution.datasources.parquet.A.b"], "source"),
        (["java.io.ObjectInputStream.readObject", "org.apache.spark.serializer.A.b"], "set-up"),
        (["org.apache.spark.sql.catalyst.expressions.GeneratedClass$Iterator.next"], "operators"),
    ],
)
def test_the_topmost_frame_that_tells_decides(frames: list[str], part: str) -> None:
    assert part_of(frames) == part
