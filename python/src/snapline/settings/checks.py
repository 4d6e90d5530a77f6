"""Checks settings before Spark starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from snapline.errors import InvalidConfiguration
from snapline.settings.checkpoint_config import CheckpointConfig
from snapline.settings.names import (
    CHANGELOG,
    CHANGELOG_COMPRESSION,
    CHECKPOINTING,
    COMPRESSION,
    HASHMAP_ASYNC,
    HASHMAP_LIMIT,
    INCREMENTAL,
    MAX_PARALLELISM,
    MAX_STATE_SIZE,
    MEMORY,
    PREFIX,
    PYTHON_ARROW_CHUNK_ROWS,
    PYTHON_CHUNK_ROWS,
    PYTHON_MAX_BYTES,
    PYTHON_MAX_KEYS,
    PYTHON_MAX_PREFETCH,
    ROW_TABLE_FRACTION,
    SNAPSHOT_THREADS,
    STATE_BACKEND,
    STORAGE,
    STORAGE_SETTINGS,
    UI_ENABLED,
    UI_RETAINED_CHECKPOINTS,
    UI_RETAINED_DETAILS,
    UI_RETAINED_QUERIES,
)
from snapline.settings.sizes import format_size, parse_size

_MIN_MEMORY = 8 << 20
_MAX_SIZE = 1 << 40


def check_settings(conf: Mapping[str, str]) -> None:
    """Checks what begins with ``spark.snapline.``.

    Raises:
        InvalidConfiguration: a name is unknown, or a value out of its range.
    """
    if any(name.startswith(CHECKPOINTING) for name in conf):
        CheckpointConfig.from_conf(conf)
    for name, value in conf.items():
        if not name.startswith(PREFIX) or (name.startswith(CHECKPOINTING) and name not in STORAGE_SETTINGS):
            continue
        rule = _RULES.get(name)
        if rule is None:
            raise InvalidConfiguration(
                f"{name} is no setting of Snapline.",
                f"use one of {', '.join(sorted(_RULES))}, or of those below {CHECKPOINTING}*.",
            )
        if not rule.allows(value.strip().lower()):
            raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to {rule.wanted}.")


class _Rule(NamedTuple):
    wanted: str
    allows: Callable[[str], bool]


def _size(least: int, most: int = _MAX_SIZE) -> _Rule:
    def is_size(text: str) -> bool:
        size = parse_size(text)
        return size is not None and least <= size <= most

    return _Rule(f"a size from {format_size(least)} to {format_size(most)}, such as 128m or 1g", is_size)


def _number(least: int, most: int) -> _Rule:
    return _Rule(
        f"a number from {least} to {most}",
        lambda text: re.fullmatch(r"\d{1,9}", text) is not None and least <= int(text) <= most,
    )


def _choice(*values: str) -> _Rule:
    return _Rule(f"one of {', '.join(values)}", lambda text: text in values)


def _is_fraction(text: str) -> bool:
    try:
        return 0 <= float(text) <= 0.8
    except ValueError:
        return False


_RULES = {
    MEMORY: _size(_MIN_MEMORY),
    ROW_TABLE_FRACTION: _Rule("a fraction from 0 to 0.8", _is_fraction),
    COMPRESSION: _choice("lz4", "zstd", "none"),
    CHANGELOG: _choice("true", "false"),
    CHANGELOG_COMPRESSION: _choice("lz4", "none"),
    MAX_PARALLELISM: _number(1, 65_535),
    SNAPSHOT_THREADS: _number(1, 64),
    UI_ENABLED: _choice("true", "false"),
    UI_RETAINED_QUERIES: _number(1, 10_000),
    UI_RETAINED_CHECKPOINTS: _number(1, 1_000_000),
    UI_RETAINED_DETAILS: _number(0, 100_000),
    STATE_BACKEND: _choice("rocksdb", "hashmap", "memorystatebackend", "fsstatebackend", "rocksdbstatebackend"),
    HASHMAP_ASYNC: _choice("true", "false"),
    HASHMAP_LIMIT: _size(1 << 20),
    INCREMENTAL: _choice("true", "false"),
    STORAGE: _choice("filesystem", "memory", "jobmanager"),
    MAX_STATE_SIZE: _size(1, 1 << 30),
    PYTHON_MAX_KEYS: _number(1, 100_000_000),
    PYTHON_MAX_BYTES: _size(1 << 20),
    PYTHON_CHUNK_ROWS: _number(1, 1_000_000),
    PYTHON_ARROW_CHUNK_ROWS: _number(1, 10_000_000),
    PYTHON_MAX_PREFETCH: _number(0, 1_000_000),
}
