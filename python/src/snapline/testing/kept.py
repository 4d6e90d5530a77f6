"""The state of a harness, as it is stored."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, Literal

from snapline.functions.context import EVENT, PROCESSING
from snapline.testing.operator import Operator
from snapline.testing.store import Store, unpickled_key
from snapline.worker.job import Job


@dataclass(frozen=True)
class Snapshot:
    """The state and the times of a harness."""

    families: bytes
    processing: int
    watermark: int | None


class Kept:
    """Reads the store of an operator, and puts back what it was."""

    def __init__(self, job: Job, operator: Operator, store: Store) -> None:
        self._job = job
        self._operator = operator
        self._store = store

    def state(self, name: str, key: Any) -> Any:
        """As :meth:`KeyedTestHarness.state`."""
        for spec in self._job.plan.operator_states:
            if spec.name == name:
                entries = self._operator.operator_states.entries(spec)
                return dict(entries) if spec.key is not None else [value for _, value in entries]
        (state,) = [each for each in self._operator.states if each.spec.name == name]
        stored = state.get(self._operator.key_of(key if isinstance(key, tuple) else (key,)))
        if stored is None:
            return None
        load = pickle.loads if state.spec.pickled else _same
        if state.spec.kind == "value":
            return load(stored[0])
        if state.spec.kind == "list":
            return [load(value) for value, _ in stored]
        return {unpickled_key(key): load(value) for key, (value, _) in stored.values()}

    def num_keys(self, name: str) -> int:
        """How many keys have this state."""
        return sum(1 for _ in self._store.items(name))

    def num_timers(self, domain: Literal["event", "processing"] | None) -> int:
        """How many timers are registered."""
        wanted = {"event": [EVENT], "processing": [PROCESSING], None: [EVENT, PROCESSING]}[domain]
        return sum(1 for _, of, _ in self._operator.timers() if of in wanted)

    def families(self) -> bytes:
        """All of it, for :meth:`put_back`."""
        return pickle.dumps({family: list(self._store.items(family)) for family in self._store.families()})

    def put_back(self, families: bytes) -> None:
        """Replaces all that is stored."""
        for family in self._store.families():
            for key, _ in list(self._store.items(family)):
                self._store.delete(family, key)
        for family, items in pickle.loads(families).items():
            for key, value in items:
                self._store.put(family, unpickled_key(key), value)


def _same(value: Any) -> Any:
    return value
