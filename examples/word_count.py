"""Counts words that are typed into a socket, the classic.

Open the socket in one terminal, and type lines into it:

    nc -lk 9000

Start the count in another:

    python examples/word_count.py            a KeyedProcessFunction with ValueState
    python examples/word_count.py --reduce   the same as one call of reduce()

It prints the words of each micro-batch with their counts so far, and ends with Ctrl-C. Without nc,
`python examples/word_count.py --feed` opens the socket and sends what is typed.

Needs a JDK 17 and `pip install snapline`.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import snapline

HOST, PORT = "localhost", 9000


class Count(snapline.KeyedProcessFunction):
    """Counts the rows of its key."""

    def open(self, ctx: snapline.RuntimeContext) -> None:
        self.count = ctx.get_state(snapline.ValueStateDescriptor("count", "long"))

    def process_element(self, row: snapline.Row, ctx: snapline.Context) -> Iterator[tuple[str, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield row.word, count


def with_function(words: DataFrame) -> DataFrame:
    return snapline.key_by(words, "word").process(Count(), "word string, count long")


def with_reduce(words: DataFrame) -> DataFrame:
    ones = words.withColumn("count", F.lit(1).cast("long"))
    return snapline.key_by(ones, "word").reduce(lambda a, b: (a.word, a.count + b.count))


def words_of(lines: DataFrame) -> DataFrame:
    words = lines.select(F.explode(F.split(F.lower("value"), r"\W+")).alias("word"))
    return words.where("word != ''")


def show(rows: DataFrame, batch: int) -> None:
    """Prints a micro-batch. A word that came twice in it has two rows: the higher count is the newer."""
    counts: dict[str, int] = {}
    for row in rows.select("word", "count").collect():
        counts[row[0]] = max(row[1], counts.get(row[0], 0))
    if counts:
        print(f"\nbatch {batch}")
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:>5}  {word}", flush=True)


def session() -> SparkSession:
    # Spark's tasks run the first python3 of the path, unless they are told that of this program.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("word count")
    builder = builder.config("spark.sql.shuffle.partitions", 2).config("spark.ui.showConsoleProgress", "false")
    return snapline.configure(builder.config("spark.log.level", "ERROR")).getOrCreate()


def feed() -> None:
    """What `nc -lk 9000` does: one reader at a time is sent the lines that are typed."""
    with socket.create_server((HOST, PORT)) as server:
        print(f"waiting for a reader on {HOST}:{PORT}", flush=True)
        reader, _ = server.accept()
        print("type lines; Ctrl-D ends", flush=True)
        for line in sys.stdin:
            while has_gone(reader):
                reader.close()
                reader, _ = server.accept()
            reader.sendall(line.encode())
        reader.close()


def has_gone(reader: socket.socket) -> bool:
    """Whether the other end is closed: readers send nothing, so there is nothing to read but the end."""
    reader.setblocking(False)
    try:
        return reader.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        reader.setblocking(True)


def check_socket() -> None:
    """Ends the program where nobody has opened the socket: Spark would say so in a hundred lines of Java."""
    try:
        socket.create_connection((HOST, PORT), timeout=5).close()
    except OSError as e:
        sys.exit(
            f"Nobody listens on {HOST}:{PORT} ({e.strerror or e}). Run `nc -lk {PORT}`, or this program with --feed, "
            "in another terminal, and start this again."
        )


def stop_between_batches(query: StreamingQuery) -> None:
    """Ends the query when its micro-batch is done, or at the next Ctrl-C.

    Where `show` is interrupted, Spark searches the text of that error so deeply that it prints a thousand lines of a
    StackOverflowError.
    """
    print("ending after this micro-batch; Ctrl-C again ends at once", flush=True)
    try:
        while query.isActive and query.status["isTriggerActive"]:
            time.sleep(0.02)
    except KeyboardInterrupt:
        pass
    query.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduce", action="store_true", help="count with reduce() instead of a function with state")
    parser.add_argument("--feed", action="store_true", help="be the other end of the socket, like nc -lk 9000")
    args = parser.parse_args()
    if args.feed:
        feed()
        return
    check_socket()
    lines = session().readStream.format("socket").option("host", HOST).option("port", PORT).load()
    count = with_reduce if args.reduce else with_function
    query = count(words_of(lines)).writeStream.outputMode("update").foreachBatch(show).start()
    print(f"counting the words from {HOST}:{PORT}", flush=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's would cancel the jobs of the query first
    try:
        while query.isActive:
            time.sleep(0.2)
        query.awaitTermination()  # raises what has ended the query
    except KeyboardInterrupt:
        stop_between_batches(query)


if __name__ == "__main__":
    main()
