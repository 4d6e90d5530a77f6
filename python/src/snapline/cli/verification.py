"""Prints ``snapline checkpoints verify``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from snapline.cli.numbered import as_table, restart_text
from snapline.cli.text import console, number, print_json, size, table
from snapline.inspect import CheckpointFolder, Verification
from snapline.inspect.files import StoredFile
from snapline.inspect.summary import summarize_numbered


@contextmanager
def progress(checkpoint: CheckpointFolder) -> Iterator[Callable[[StoredFile], None]]:
    """A bar on standard error, if somebody looks at it."""
    files = [*checkpoint.merged.files, *(file for store in checkpoint.stores for file in store.files.own)]
    total = sum(file.size for file in files)
    columns = (TextColumn("Reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=total)
        yield lambda file: bar.advance(task, file.size)


def show(checkpoint: CheckpointFolder, result: Verification, *, as_json: bool) -> None:
    """Prints to standard output."""
    if as_json:
        _print_json(checkpoint, result)
        return
    out = console()
    out.print(f"Checkpoint {checkpoint.location}", soft_wrap=True)
    out.print(f"read {number(result.files)} files, {size(result.bytes)}, of {number(len(checkpoint.stores))} stores")
    if result.findings:
        findings = table("Found", "", "where", "what")
        for finding in result.findings:
            mark = Text("left over", "yellow") if finding.leftover else Text(finding.error.code, "red")
            what = finding.error.found.removeprefix(f"{checkpoint.folder.path(finding.where)}: ")
            findings.add_row(mark, finding.where.removeprefix("state/"), what)
        out.print()
        out.print(findings)
    if result.unnamed:
        out.print(f"\n{number(result.unnamed)} table files belong to no snapshot: an upload that runs or was given up.")
    if result.checkpoints:
        out.print()
        out.print(as_table([summarize_numbered(each) for each in result.checkpoints]))
    out.print(f"\n{_verdict(result)}", soft_wrap=True)


def _verdict(result: Verification) -> str:
    if result.restart is not None:
        # Versions after the checkpoint are nowhere, and need not be.
        if result.restart.checkpoint is None and result.subsumed:
            return "The query runs, and has replaced all checkpoints since this began. Do: verify again, or keep more."
        return f"{'Damaged.' if result.damaged else 'Everything is sound.'} {restart_text(result.restart)}"
    newest = result.newest_loadable
    if newest is None:
        restore = "Damaged, and no version loads in all stores. Do: restore the folder from a backup."
        return restore if result.damaged else "Everything is sound."
    loads = f"version {newest}, the state after batch {newest - 1}"
    if not result.damaged:
        return f"Everything is sound. The query can go on from {loads}."
    if result.newest is None or newest >= result.newest:
        return f"Damaged, but the query can go on from its newest: {loads}."
    return (
        f"Damaged. The newest that loads is {loads}. Do: stop the query, remove what is newer than {newest - 1} from "
        f"commits/ and newer than {newest} from offsets/, and start it again. A sink that passes over batches it has "
        "(files, Delta) must forget those first, or their rows are lost: docs/operations.md, going back to an older "
        "version."
    )


def _print_json(checkpoint: CheckpointFolder, result: Verification) -> None:
    findings = [
        {
            "where": finding.where,
            "leftover": finding.leftover,
            "code": finding.error.code,
            "found": finding.error.found,
            "action": finding.error.action,
        }
        for finding in result.findings
    ]
    print_json(
        {
            "location": checkpoint.location,
            "damaged": result.damaged,
            "files": result.files,
            "bytes": result.bytes,
            "unnamed": result.unnamed,
            "newest": result.newest,
            "newest_loadable": result.newest_loadable,
            "restart": result.restart,
            "checkpoints": [summarize_numbered(each) for each in result.checkpoints],
            "findings": findings,
        }
    )
