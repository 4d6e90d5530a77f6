"""Prints ``snapline checkpoints list``."""

from __future__ import annotations

from rich.console import Console

from snapline.cli.numbered import as_table, replay_text, restart_text
from snapline.cli.text import console, number, print_json, ranges, share, size, table
from snapline.inspect import CheckpointSummary, OperatorSummary


def show(summary: CheckpointSummary, *, as_json: bool) -> None:
    """Prints to standard output."""
    if as_json:
        print_json(summary)
        return
    out = console()
    out.print(f"Checkpoint {summary.location}", soft_wrap=True)
    out.print(
        f"query {summary.query_id or 'unknown'}, newest batch {number(summary.newest_offset)}, newest done "
        f"{number(summary.newest_commit)}"
    )
    if summary.checkpoints:
        out.print()
        out.print(as_table(summary.checkpoints))
        for each in summary.checkpoints:
            if each.found is not None:
                out.print(f"Checkpoint {each.id} is {each.status}: {each.found}", soft_wrap=True)
    if not summary.operators:
        out.print("It holds no state: the query has no stateful operator, or has not run yet.")
        return
    columns = ("operator", "stores", "newest", "loads", "snapshots", "files", "size", "changelog")
    states = table("State (changelog: average size of one)", *columns, numbers=(*columns[1:3], *columns[4:]))
    for operator in summary.operators:
        states.add_row(
            _name(operator),
            _stores(operator),
            number(operator.newest),
            ranges(operator.loadable),
            number(sum(snapshot.stores for snapshot in operator.snapshots)),
            number(operator.files),
            size(operator.bytes),
            size(operator.bytes_per_changelog),
        )
    out.print()
    out.print(states)
    out.print()
    _show_snapshots(summary, out)
    newest = summary.newest_loadable
    if summary.replay is not None:
        out.print(f"\n{replay_text(summary.replay)}", soft_wrap=True)
    if summary.restart is not None:
        out.print(f"\n{restart_text(summary.restart)}", soft_wrap=True)
    elif newest is None:
        out.print("\nNo version loads in all stores: run `snapline checkpoints verify`.")
    else:
        out.print(f"\nThe query can go on from version {newest}, the state after batch {newest - 1}.")


def _show_snapshots(summary: CheckpointSummary, out: Console) -> None:
    columns = ("version", "stores", "state", "uploaded", "of it", "table files")
    snapshots = table("Snapshots", "operator", *columns, numbers=columns)
    for operator in summary.operators:
        for at, snapshot in enumerate(operator.snapshots):
            snapshots.add_row(
                _name(operator) if at == 0 else "",
                number(snapshot.version),
                number(snapshot.stores),
                size(snapshot.state_bytes),
                size(snapshot.uploaded_bytes),
                share(snapshot.uploaded_bytes, snapshot.state_bytes),
                number(snapshot.uploaded_files),
            )
    if snapshots.row_count:
        out.print(snapshots)
    else:
        out.print("No snapshot yet: every version is loaded from changelogs.")


def _name(operator: OperatorSummary) -> str:
    return f"{operator.operator} {operator.name}".rstrip()


def _stores(operator: OperatorSummary) -> str:
    missing = f" (-{operator.missing_stores})" if operator.missing_stores else ""
    return f"{operator.stores}{missing}"
