"""What the operator is told of a state: its physical form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType

from snapline.state.descriptors import Kind, ListStateDescriptor, MapStateDescriptor, Prefetch, StateDescriptor
from snapline.state.ttl import StateTtlConfig


@dataclass(frozen=True)
class StateSpec:
    """One state as it is stored and sent.

    Attributes:
        name: the state's name.
        kind: value, list or map.
        key: the type of a map's keys.
        value: the type of values, elements or a map's values.
        pickled: whether the values are pickles.
        ttl: how long values live; None: for ever.
        prefetch: whether it is read ahead, or for timers alone.
        entry: the input column that names the entries to read ahead.
    """

    name: str
    kind: Kind
    key: DataType | None
    value: DataType
    pickled: bool
    ttl: StateTtlConfig | None
    prefetch: Prefetch
    entry: str | None

    @classmethod
    def of(cls, descriptor: StateDescriptor) -> StateSpec:
        kind, key, value = descriptor.physical
        prefetch: Prefetch = True
        entry = None
        if isinstance(descriptor, MapStateDescriptor):
            prefetch, entry = descriptor.prefetch, descriptor.entry
        elif isinstance(descriptor, ListStateDescriptor):
            prefetch = descriptor.prefetch
        ttl: StateTtlConfig | None = vars(descriptor)["ttl"]
        return cls(descriptor.name, kind, key, value, descriptor.is_pickled, ttl, prefetch, entry)

    def travels(self, *, with_timers: bool) -> bool:
        """Whether it is sent with the timers of a key, or with its rows."""
        return self.prefetch is True or (with_timers and self.prefetch == "timers")

    def to_json(self) -> dict[str, Any]:
        """As the operator reads it; types as Spark writes them in JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "key": None if self.key is None else self.key.jsonValue(),
            "type": self.value.jsonValue(),
            "ttl": self.ttl is not None,
            "ttl_time": self.ttl.time.value if self.ttl else "processing",
            "ttl_ms": self.ttl.milliseconds if self.ttl else None,
            "prefetch": self.prefetch,
            "entry": self.entry,
        }
