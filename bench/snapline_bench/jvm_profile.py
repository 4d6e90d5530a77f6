"""The CPU of a query's JVM by its parts: by its threads, and tasks by samples of the JDK's Flight Recorder."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from snapline_bench import cpu

#: Parts of a task, by the packages of the topmost frame that tells. All else are Spark's operators.
PACKAGES = {
    "state": ("io.snapline.", "org.rocksdb.", "org.apache.spark.sql.execution.streaming.state."),
    "source": (
        "org.apache.parquet.",
        "org.apache.spark.sql.execution.datasources.",
        "org.apache.spark.sql.execution.vectorized.",
        "org.apache.hadoop.",
    ),
    "shuffle": (
        "org.apache.spark.shuffle.",
        "org.apache.spark.storage.",
        "org.apache.spark.serializer.",
        "org.apache.spark.util.collection.",
        "org.apache.spark.io.",
        "net.jpountz.",
    ),
    # Of each task and batch, however many rows there are.
    "set-up": (
        "org.codehaus.",
        "java.io.Object",
        "org.apache.spark.sql.catalyst.expressions.codegen.Code",
        "org.apache.spark.util.Closure",
    ),
}
OPERATORS = "operators"
TASKS, STORE, DRIVER, PYTHON = "tasks", "store", "driver", "python"
#: Java's threads, by the beginnings of their names in Java.
JAVA_THREADS = {TASKS: ("Executor task",), STORE: ("snapline", "state-store-maintenance")}
#: Other threads of the process, by the beginnings of their names in Linux.
OTHER_THREADS = {STORE: ("rocksdb",), "compilers": ("C1 ", "C2 "), "collector": ("GC ", "G1 ")}
PARTS = (*PACKAGES, OPERATORS, *OTHER_THREADS, DRIVER, PYTHON)


class JvmProfile:
    """What the session's processes do from `begin` until `end`.

    To be made before the query is warm: the recorder changes classes when it starts, which are all compiled anew then.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm = spark._jvm  # type: ignore[attr-defined]
        self._pid = int(self._jvm.java.lang.ProcessHandle.current().pid())
        # Seconds of Java's threads by their numbers, and their parts.
        self._threads: dict[int, tuple[str, float]] = {}
        self._over = threading.Event()
        self._poll = threading.Thread(target=self._look_at_threads, daemon=True)
        settings = self._jvm.jdk.jfr.Configuration.getConfiguration("profile")
        self._warming, self._recording = (self._jvm.jdk.jfr.Recording(settings) for _ in range(2))
        self._warming.start()

    def begin(self) -> None:
        self._recording.start()
        self._before = self._read()
        self._poll.start()

    def end(self, recording: Path) -> dict[str, float]:
        """
        Args:
            recording: where the samples go.

        Returns:
            seconds of CPU of each of `PARTS`.
        """
        self._over.set()
        self._poll.join()
        parts = self._read()
        parts.subtract(self._before)
        self._recording.stop()
        self._recording.dump(self._jvm.java.io.File(str(recording)).toPath())
        for each in (self._recording, self._warming):
            each.close()
        tasks = parts.pop(TASKS)
        counts = Counter(part_of(stack) for stack in task_stacks(_print(recording)))
        for part, count in counts.items():
            parts[part] += tasks * count / counts.total()
        return {part: parts[part] for part in PARTS}

    def _read(self) -> Counter[str]:
        """So far: seconds of the tasks' threads, and of all parts that are threads or processes. Of the driver, all
        that no other thread has used.
        """
        self._read_threads()
        found: Counter[str] = Counter()
        for part, seconds in self._threads.values():
            found[part] += seconds
        for task in Path(f"/proc/{self._pid}/task").iterdir():
            name, seconds = _stat(task)
            part = _part(name, OTHER_THREADS)
            if part is not None:
                found[part] += seconds
        whole = _stat(Path(f"/proc/{self._pid}"))[1]
        found[DRIVER] = whole - found.total()
        found[PYTHON] = cpu.tree_seconds(os.getpid()) - whole
        return found

    def _read_threads(self) -> None:
        beans = self._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
        for thread in beans.getThreadInfo(beans.getAllThreadIds()):
            part = _part(thread.getThreadName(), JAVA_THREADS) if thread is not None else None
            if part is not None:
                number = thread.getThreadId()
                nanos = beans.getThreadCpuTime(number)
                # One that has ended since has -1.
                if nanos >= 0:
                    self._threads[number] = part, nanos / 1e9

    def _look_at_threads(self) -> None:
        """Threads that snapshot and upload end after five seconds without work, and what they used goes with them."""
        while not self._over.wait(2):
            self._read_threads()


def _part(name: str, threads: dict[str, tuple[str, ...]]) -> str | None:
    return next((part for part, begins in threads.items() if name.startswith(begins)), None)


def _stat(folder: Path) -> tuple[str, float]:
    """Name, and user and system time, of a process or a thread; nothing of one that has ended."""
    try:
        stat = (folder / "stat").read_text()
    except OSError:
        return "", 0.0
    name, _, fields = stat.partition("(")[2].rpartition(")")
    return name, sum(int(field) for field in fields.split()[11:13]) / cpu.TICKS


def _print(recording: Path) -> str:
    """Needs the JDK's `jfr`."""
    command = shutil.which("jfr")
    if command is None:
        raise SystemExit("no `jfr` on the path: it comes with a JDK")
    events = "jdk.ExecutionSample,jdk.NativeMethodSample"
    printed = subprocess.run(
        [command, "print", "--stack-depth", "64", "--events", events, str(recording)],
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout


def task_stacks(printed: str) -> Iterator[list[str]]:
    """The stacks of tasks, the topmost frame first; of native methods, which may wait, those of RocksDB alone."""
    for event in printed.split("\n}"):
        if '"Executor task' not in event:
            continue
        frames = event.partition("stackTrace = [")[2]
        stack = [line.strip().partition("(")[0] for line in frames.splitlines() if "(" in line]
        if stack and ("NativeMethodSample" not in event or stack[0].startswith("org.rocksdb.")):
            yield stack


def part_of(stack: Iterable[str]) -> str:
    for frame in stack:
        for part, packages in PACKAGES.items():
            if frame.startswith(packages):
                return part
    return OPERATORS
