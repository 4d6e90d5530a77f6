"""A source that keeps its position as operator state: Flink's CounterSource, on Spark.

    python examples/counting_source.py [FOLDER]

Four sequences of numbers are shared out over the partitions of the function. With each tick of the stream a partition
puts out the next number of each of its sequences. Stop it (Ctrl-C, or kill it) and start it again with the same folder:
every sequence goes on where it was, without a gap and without a number twice. To go on with three partitions:

    snapline savepoint create FOLDER/checkpoint --to FOLDER/savepoint
    snapline restore FOLDER/savepoint --to FOLDER/checkpoint-3 --parallelism 3
    python examples/counting_source.py FOLDER --checkpoint checkpoint-3 --parallelism 3

Needs a JDK 17 and `pip install snapline`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import snapline

SEQUENCES = 4
OUTPUT = "subtask int, sequence int, number long"


class CountingSource(snapline.ProcessFunction, snapline.CheckpointedFunction):
    """Emits numbers; its position is a list of (sequence, next number)."""

    def initialize_state(self, ctx: snapline.FunctionInitializationContext) -> None:
        self.state = ctx.get_operator_state_store().get_list_state(
            snapline.ListStateDescriptor("positions", "struct<sequence: int, next: long>")
        )
        self.subtask = ctx.get_index_of_this_subtask()
        if ctx.is_restored():
            self.positions = {position.sequence: position.next for position in self.state.get()}
        else:
            mine = range(self.subtask, SEQUENCES, ctx.get_number_of_parallel_subtasks())
            self.positions = dict.fromkeys(mine, 0)

    def process_element(self, row: snapline.Row, ctx: snapline.Context) -> Iterator[tuple[int, int, int]]:
        for sequence, number in self.positions.items():
            yield self.subtask, sequence, number
            self.positions[sequence] = number + 1

    def snapshot_state(self, ctx: snapline.FunctionSnapshotContext) -> None:
        self.state.update(self.positions.items())


def numbers(ticks: DataFrame, parallelism: int) -> DataFrame:
    return snapline.process(ticks, CountingSource(), OUTPUT, parallelism=parallelism)


def main() -> None:
    parser = argparse.ArgumentParser(description="A source that keeps its position as operator state.")
    parser.add_argument("folder", nargs="?", type=Path, help="of checkpoint and output; without it a temporary one")
    parser.add_argument("--checkpoint", default="checkpoint", help="the checkpoint's folder within it")
    parser.add_argument("--parallelism", type=int, default=2)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="counting-"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("counting source")
    spark = snapline.configure(builder.config("spark.sql.shuffle.partitions", args.parallelism)).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    ticks = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=args.parallelism, numPartitions=2).load()
    print(f"in {folder}; end with Ctrl-C")
    writer = numbers(ticks, args.parallelism).writeStream.outputMode("update").format("console")
    query = (
        writer.option("checkpointLocation", str(folder / args.checkpoint)).trigger(processingTime="1 second").start()
    )
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


if __name__ == "__main__":
    main()
