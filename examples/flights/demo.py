"""Streams a year of flights through four stateful queries, kills Spark half-way, and checks every row at the end.

    python examples/flights/demo.py             with a live display
    python examples/flights/demo.py --ci        the same, as plain lines

Ends with status 0 only if each query has written exactly what one batch computation over the same data gives.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import check
import data
import feed
import sink
from drill import Drill, JobFailed
from job import PROVIDERS
from progress import Progress
from queries import queries_on
from rich.console import Console
from rich.table import Table
from watch import LiveWatch, PlainWatch

FOLDER = Path(__file__).resolve().parents[2] / "build" / "demo"


def main() -> int:
    args = _arguments()
    # So that the job is killed and its folder removed then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console(width=110 if args.ci else None, highlight=False)
    began = time.monotonic()
    tables = data.load(args.days)
    folder = prepared(tables)
    console.print(
        f"[bold]Snapline flights demo[/]: {len(tables.flights):,} flights and {len(tables.weather):,} weather readings "
        f"of {args.days} days, {args.batch_days} days to a micro-batch.\n"
        f"State store: {args.provider}. Spark {version('pyspark')}, two tasks at a time."
    )
    work = Path(tempfile.mkdtemp(prefix="run-", dir=FOLDER))
    try:
        stream(args, tables, folder, work, console)
        same = compare(tables, args.provider, work, console)
        listed = args.provider != "snapline" or list_checkpoints(work, console)
    except JobFailed as failure:
        console.print(str(failure), markup=False, style="red")
        return 1
    finally:
        if args.keep:
            console.print(f"Kept: {work}", soft_wrap=True)
        else:
            shutil.rmtree(work)
    console.print(f"{time.monotonic() - began:.0f} s in all.")
    return 0 if same and listed else 1


def prepared(tables: data.Tables) -> Path:
    """The folder with the files to stream; its name changes with the code that writes it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    code = b"".join(Path(str(module.__file__)).read_bytes() for module in (data, feed))
    # Versions of pandas parse the last digit of a number differently: what one has cut, another must not check.
    code += version("pandas").encode()
    folder = FOLDER / f"data-{tables.days}-{hashlib.sha256(code).hexdigest()[:8]}"
    feed.prepare(tables, folder)
    return folder


def stream(args: argparse.Namespace, tables: data.Tables, folder: Path, work: Path, console: Console) -> None:
    """Both runs of the job, with the kill between them."""
    rows = feed.row_counts(tables)
    progress = Progress({name: rows[name] for name in queries_on(args.provider)})
    command = [str(folder), str(work), "--provider", args.provider, "--days", str(args.batch_days)]
    with PlainWatch(console, progress) if args.ci else LiveWatch(console, progress) as watch:
        drill = Drill(command, work, progress, watch)
        drill.run_and_kill()
        drill.run_to_end()


def compare(tables: data.Tables, provider: str, work: Path, console: Console) -> bool:
    """Prints how the output of the job differs from a batch computation; true if it does not."""
    table = Table("query", title="What was streamed, against one batch computation", title_justify="left")
    for heading in ("rows streamed", "rows batch", "differing rows", "files of cut-off batches"):
        table.add_column(heading, justify="right")
    comparisons = []
    batch = check.batch_tables(tables)
    for query in queries_on(provider):
        output = work / "output" / query
        comparison = check.compare(query, sink.read(output), batch[query])
        comparisons.append(comparison)
        table.add_row(
            query,
            f"{comparison.streamed:,}",
            f"{comparison.batch:,}",
            f"[{'red' if comparison.differing else 'green'}]{comparison.differing:,}[/]",
            f"{sink.leftovers(output):,}",
        )
    console.print(table)
    for comparison in comparisons:
        for kind, rows in (("missing", comparison.missing), ("extra", comparison.extra)):
            if len(rows):
                console.print(
                    f"{comparison.query}: {len(rows):,} {kind} rows, such as\n{rows.head().to_string()}", markup=False
                )
    return not any(comparison.differing for comparison in comparisons)


def list_checkpoints(work: Path, console: Console) -> bool:
    """Shows the checkpoints of each query with Snapline's own command; true if it succeeds."""
    statuses = []
    for checkpoint in sorted((work / "checkpoints").iterdir()):
        console.print(f"$ snapline checkpoints list {checkpoint.relative_to(FOLDER.parents[1])}", soft_wrap=True)
        command = [sys.executable, "-m", "snapline", "checkpoints", "list", str(checkpoint)]
        statuses.append(subprocess.run(command).returncode)
    return not any(statuses)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ci", action="store_true", help="plain output, for a log")
    parser.add_argument("--days", type=int, default=365, help="how much of the year, from 1 January")
    parser.add_argument("--batch-days", type=int, help="days to a micro-batch: a week, less if --days is small")
    parser.add_argument("--keep", action="store_true", help="keep checkpoints, output and logs")
    parser.add_argument("--provider", choices=PROVIDERS, default="snapline", help="the state store, to compare")
    args = parser.parse_args()
    if not 7 <= args.days <= 365:
        parser.error("--days is a number from 7 to 365")
    if args.batch_days is None:
        args.batch_days = min(7, max(1, args.days // 14))
    args.ci = args.ci or not sys.stdout.isatty()
    return args


if __name__ == "__main__":
    sys.exit(main())
