"""Prints ``snapline checkpoints describe``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console

from snapline.cli.text import console, number, print_json, size, table
from snapline.errors import StateNotFound
from snapline.format import Family
from snapline.inspect import Chain, CheckpointFolder, Store


class Loaded(NamedTuple):
    """A store, and what its version is loaded from."""

    store: Store
    chain: Chain

    @property
    def files(self) -> list[tuple[str, str, int]]:
        """What is read: a word on it, its path in the checkpoint, its bytes."""
        folder, files = self.store.files.folder, self.store.files
        found: list[tuple[str, str, int]] = []
        if self.chain.handle is not None:
            name, length = files.handle(self.chain.handle.ref)
            found.append((f"snapshot {self.chain.handle.ref.version}", name, length))
            found += [("", f"{folder}/{table.stored_name}", table.length) for table in self.chain.handle.files]
        for meta in self.chain.changelogs:
            changelog = files.changelogs[meta.ref]
            word = f"changelog {meta.ref.version}, {meta.entries:,} entries"
            found.append((word, changelog.name, changelog.size))
        return found

    @property
    def source(self) -> str:
        """In words."""
        handle, changelogs = self.chain.handle, len(self.chain.changelogs)
        base = f"snapshot {handle.ref.version}" if handle else "the empty store"
        return base + (f" + {changelogs} changelog{'s' * (changelogs > 1)}" if changelogs else "")


def choose(
    checkpoint: CheckpointFolder, operator: int | None, partition: int | None, version: int | None
) -> list[Loaded]:
    """The stores to describe, at a version or at the newest the query can go on from.

    Raises:
        StateNotFound: there is no such operator, partition or version.
        CheckpointDamaged: the version does not load.
    """
    operators = checkpoint.operators if operator is None else [checkpoint.operator(operator)]
    stores = [store for each in operators for store in each.stores if partition in (None, store.key.partition)]
    if not stores:
        raise StateNotFound(
            f"no store in {checkpoint.location} is of operator {_any(operator)} and partition {_any(partition)}.",
            "ask for one that `snapline checkpoints list` counts.",
        )
    if version is None:
        checkpoint.read_metas()
        version = checkpoint.newest_loadable()
    uids = {} if version is None else checkpoint.uids(version)
    return [Loaded(store, store.resolve(_version(store, version), uids.get(store.key))) for store in stores]


def show(loaded: Sequence[Loaded], *, files: bool, as_json: bool) -> None:
    """Prints to standard output."""
    if as_json:
        print_json([_as_dict(each) for each in loaded])
        return
    out = console()
    _show_stores(loaded, out)
    out.print()
    _show_families(loaded, out)
    for each in loaded if files else ():
        out.print()
        _show_files(each, out)


def _show_stores(loaded: Sequence[Loaded], out: Console) -> None:
    columns = ("store", "version", "loaded from", "keys", "files", "to read")
    stores = table("Stores", *columns, numbers=("version", "keys", "files", "to read"))
    for each in loaded:
        stores.add_row(
            str(each.store.key),
            number(each.chain.ref.version),
            each.source,
            number(sum(family.keys for family in each.chain.families)),
            number(len(each.files)),
            size(sum(length for _, _, length in each.files)),
        )
    out.print(stores)


def _show_families(loaded: Sequence[Loaded], out: Console) -> None:
    columns = ("operator", "store", "id", "state", "keys", "kind")
    families = table("States", *columns, numbers=("id", "keys"))
    keys: dict[tuple[int, str, int, str, str], int] = {}
    for each in loaded:
        for family in each.chain.families:
            at = (each.store.key.operator, each.store.key.store, family.id, family.name, _kind(family))
            keys[at] = keys.get(at, 0) + family.keys
    for (operator, store, identity, name, kind), count in sorted(keys.items()):
        families.add_row(str(operator), store, str(identity), name, number(count), kind)
    out.print(families)


def _show_files(each: Loaded, out: Console) -> None:
    files = table(f"Files of {each.store.key}, {each.store.files.folder}/", "", "file", "size", numbers=("size",))
    for word, path, length in each.files:
        files.add_row(word, path[len(each.store.files.folder) + 1 :], size(length))
    out.print(files)


def _kind(family: Family) -> str:
    words = ["list" if family.multi else "value", "" if family.key_groups else "ordered over the partition"]
    return ", ".join(word for word in [*words, "internal" if family.internal else ""] if word)


def _as_dict(each: Loaded) -> dict[str, Any]:
    handle = each.chain.handle
    return {
        **each.store.key._asdict(),
        "version": each.chain.ref.version,
        "uid": each.chain.ref.uid,
        "snapshot": None if handle is None else handle.ref._asdict(),
        "changelogs": [meta.ref._asdict() for meta in each.chain.changelogs],
        "families": each.chain.families,
        "files": [{"path": path, "bytes": length} for _, path, length in each.files],
    }


def _version(store: Store, version: int | None) -> int:
    """Where no version loads everywhere, each store shows the newest it has."""
    newest = max((ref.version for ref in store.files.refs), default=0)
    return version or max((ref.version for ref in store.loadable()), default=newest)


def _any(number: int | None) -> str:
    return "any" if number is None else str(number)
