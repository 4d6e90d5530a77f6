"""Reads what a streaming file sink has committed, without Spark.

Spark writes the files of a batch first and then names them in `_spark_metadata`. A killed job leaves files behind that
no entry names; to read the folder as if it were plain Parquet would count their rows twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def committed(folder: Path) -> list[Path]:
    """The files of all committed batches: those of the newest compacted entry, then of each entry after it."""
    entries = {int(entry.name.split(".")[0]): entry for entry in sorted((folder / "_spark_metadata").glob("[0-9]*"))}
    compacted = max((batch for batch, entry in entries.items() if entry.suffix == ".compact"), default=0)
    lines = [
        line
        for batch in sorted(entries)
        if batch >= compacted
        for line in entries[batch].read_text().splitlines()[1:]  # the first line is the version
    ]
    return [Path(unquote(urlsplit(json.loads(line)["path"]).path)) for line in lines]


def leftovers(folder: Path) -> int:
    """How many files a killed batch has written in vain."""
    return len(set(folder.rglob("*.parquet")) - set(committed(folder)))


def read(folder: Path) -> pd.DataFrame:
    """All committed rows; whole numbers stay whole where some are null, times are UTC without a zone."""
    table = pa.concat_tables(pq.read_table(file, partitioning=None) for file in committed(folder))
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.timestamp("us")))
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame
