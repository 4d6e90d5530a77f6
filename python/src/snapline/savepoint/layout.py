"""The states of a query, operator by operator, as the jar describes them and a savepoint's ``_metadata`` keeps them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from snapline.errors import StateNotFound
from snapline.format.members import BadMeta, count, items, need

DEFAULT = "default"
_OPERATOR_MARK = "$operator"
_KINDS = ("hashed", "first", "every", "split", "union", "fixed")
# The stores of a join, in the order in which Spark's commit log has the ids of a partition.
_JOIN_STORES = ("left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue")


class StateKey(NamedTuple):
    """One state of one operator: in what store, and its column family there."""

    operator: int
    store: str
    family: str

    @property
    def name(self) -> str:
        """What people call it: Spark's operators name either the store or the family."""
        return self.store if self.family == DEFAULT else self.family

    @property
    def folder(self) -> str:
        """Where a canonical savepoint has it. Spark and Hive pass over names that begin with ``_`` or ``.``."""
        name = quote(self.name, safe="$-.")
        if name[0] in "_.":
            name = f"%{ord(name[0]):02X}{name[1:]}"
        return f"operator-{self.operator}/{name}"


@dataclass(frozen=True)
class OperatorLayout:
    """A stateful operator: ``uid`` is the name its query gave it, ``json`` its description as the jar takes it."""

    id: int
    name: str
    uid: str | None
    parallelism: int
    stores: Mapping[str, tuple[str, ...]]
    fixed: Mapping[str, str]
    json: Mapping[str, Any]

    @property
    def title(self) -> str:
        """For messages."""
        return f"operator {self.id} ({self.name})" if self.uid is None else f"operator {self.id} ({self.uid})"

    def is_called(self, wanted: int | str) -> bool:
        """Whether it has this number or this uid."""
        number = int(wanted) if isinstance(wanted, str) and wanted.isdigit() else wanted
        return number == self.id or (self.uid is not None and wanted == self.uid)

    def renumbered(self, number: int) -> OperatorLayout:
        """As it is at another place of a plan."""
        old, new = (f"state/{each}/" for each in (self.id, number))
        files = [new + name.removeprefix(old) for name in self.schema_files]
        return dataclasses.replace(self, id=number, json={**self.json, "id": number, "schemaFiles": files})

    @property
    def text(self) -> str:
        """For the jar."""
        return json.dumps(self.json)

    @property
    def is_spread(self) -> bool:
        """Whether it has a key, and as many partitions as the query; else all is in one."""
        states = (family for store in self.json["stores"] for family in store["states"])
        return any(family["placement"]["kind"] != "first" for family in states)

    @property
    def has_operator_state(self) -> bool:
        """Whether it is a function whose state belongs to a partition, and not to a key."""
        return any(_OPERATOR_MARK in families for families in self.stores.values())

    def partitions(self, wanted: int | None) -> int:
        """How many it has where a query is given that parallelism; None: as many as it had."""
        return (wanted or self.parallelism) if self.is_spread else 1

    @property
    def states(self) -> Iterator[StateKey]:
        """All of them, store by store."""
        for store, families in self.stores.items():
            for family in families:
                yield StateKey(self.id, store, family)

    @property
    def stores_in_commits(self) -> list[str]:
        """Their names in the order of a commit's ids."""
        return sorted(self.stores, key=lambda name: _JOIN_STORES.index(name) if name in _JOIN_STORES else -1)

    @property
    def schema_files(self) -> list[str]:
        """Spark's, relative to the checkpoint; empty where each store has its own."""
        return [str(name) for name in self.json["schemaFiles"]]

    def state(self, name: str | None) -> StateKey:
        """The state people call so; None: the only one, timers and the like apart.

        Raises:
            StateNotFound: there is none, or there are several.
        """
        states = list(self.states)
        if name is None:
            found = [key for key in states if not key.name.startswith("$")] if states[1:] else states
        else:
            found = [key for key in states if key.name == name]
        if len(found) != 1:
            there = ", ".join(key.name for key in states) or "no state"
            wanted = "no state was named" if name is None else f"there is no state {name}"
            raise StateNotFound(f"{wanted}; {self.title} has {there}.", "name one of them (state=).")
        return found[0]


def parse_operators(text: str) -> tuple[OperatorLayout, ...]:
    """The operators in the jar's answer."""
    return tuple(map(parse_operator, json.loads(text)))


def parse_operator(item: dict[str, Any]) -> OperatorLayout:
    """
    Raises:
        BadMeta: it is not what FORMAT.md says.
    """
    stores: dict[str, tuple[str, ...]] = {}
    fixed: dict[str, str] = {}
    for store in items(item, "stores"):
        families = items(store, "states")
        stores[need(store, "name", str)] = tuple(need(family, "name", str) for family in families)
        for family in families:
            placement = need(family, "placement", dict)
            if need(placement, "kind", str) not in _KINDS:
                raise BadMeta("a placement is of no known kind")
            if placement["kind"] == "fixed":
                fixed[family["name"]] = need(placement, "why", str)
    if not all(isinstance(name, str) for name in need(item, "schemaFiles", list)):
        raise BadMeta("schemaFiles holds something else than names")
    return OperatorLayout(
        count(item, "id"),
        need(item, "name", str),
        None if item.get("uid") is None else need(item, "uid", str),
        count(item, "parallelism"),
        stores,
        fixed,
        dict(item),
    )


def find_operator(operators: tuple[OperatorLayout, ...], wanted: int | str | None, where: str) -> OperatorLayout:
    """By number, uid or name; None: the only one.

    Raises:
        StateNotFound: there is none, or there are several.
    """
    found = [each for each in operators if wanted is None or wanted == each.name or each.is_called(wanted)]
    if len(found) != 1:
        there = ", ".join(each.title for each in operators) or "no stateful operator"
        raise StateNotFound(f"{where} has {there}.", "give the number or the uid of one of them (operator=).")
    return found[0]
