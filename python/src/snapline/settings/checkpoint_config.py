"""When checkpoints are taken, and what becomes of them: Flink's settings under Flink's names."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple

from snapline.errors import InvalidConfiguration
from snapline.settings.duration import format_duration
from snapline.settings.kinds import Kind
from snapline.settings.names import CHECKPOINTING, STORAGE_SETTINGS
from snapline.settings.table import kind

_MILLISECOND = timedelta(milliseconds=1)


class CheckpointingMode(str, Enum):
    """The promise of a recovery from a checkpoint.

    ``EXACTLY_ONCE``: state is as if each row had been counted once. ``AT_LEAST_ONCE``: partitions take their snapshots
    without waiting for one another, and rows of batches after the checkpoint may count twice in them.
    """

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"


class ExternalizedCheckpointRetention(str, Enum):
    """The fate of the newest checkpoints when the query ends."""

    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"


_POLICIES = {
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: "NEVER_RETAIN_AFTER_TERMINATION",
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: "RETAIN_ON_FAILURE",
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: "RETAIN_ON_CANCELLATION",
}


class ChannelLimit(str, Enum):
    """The behaviour of a batch that begins with more in-flight data than is allowed."""

    ALIGN = "ALIGN"
    FAIL = "FAIL"


class _Setting(NamedTuple):
    """A field as a setting of Spark.

    Attributes:
        name: below ``spark.snapline.execution.checkpointing.``.
        enum: the type of the field's values, where they are words.
        of_stores: whether executors read it, when a query opens its stores.
        optional: whether the field may be None, for not set.
    """

    name: str
    enum: type[Enum] | None = None
    of_stores: bool = False
    optional: bool = False

    @property
    def full(self) -> str:
        return CHECKPOINTING + self.name

    @property
    def kind(self) -> Kind:
        return kind(self.full)

    def check(self, value: Any) -> Any:
        checked = self.kind.check(self.full, value)
        return checked if self.enum is None else self.enum(checked)


_SETTINGS = {
    "interval": _Setting("interval", optional=True),
    "mode": _Setting("mode", CheckpointingMode),
    "timeout": _Setting("timeout"),
    "min_pause": _Setting("min-pause"),
    "max_concurrent_checkpoints": _Setting("max-concurrent-checkpoints"),
    "tolerable_failed_checkpoints": _Setting("tolerable-failed-checkpoints"),
    "externalized_checkpoint_retention": _Setting("externalized-checkpoint-retention", ExternalizedCheckpointRetention),
    "num_retained": _Setting("num-retained"),
    "incremental": _Setting("incremental", of_stores=True, optional=True),
    "data_inline_threshold": _Setting("data-inline-threshold", of_stores=True),
    "local_backup": _Setting("local-backup.enabled", of_stores=True),
    "upload_changelogs": _Setting("changelog-upload.enabled"),
    "file_merging": _Setting("file-merging.enabled", of_stores=True),
    "file_merging_max_file_size": _Setting("file-merging.max-file-size", of_stores=True),
    "directory": _Setting("dir", optional=True),
    "prefer_checkpoint_for_recovery": _Setting("prefer-checkpoint-for-recovery"),
    "forced": _Setting("forced"),
    "unaligned": _Setting("unaligned.enabled"),
    "aligned_checkpoint_timeout": _Setting("aligned-checkpoint-timeout"),
    "max_channel_bytes": _Setting("unaligned.max-channel-bytes"),
    "max_channel_rows": _Setting("unaligned.max-channel-rows"),
    "max_batches_behind": _Setting("unaligned.max-batches-behind"),
    "at_channel_limit": _Setting("unaligned.at-limit", ChannelLimit),
}


def _full(field: str) -> str:
    return _SETTINGS[field].full


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """Settings of the checkpoints of one query.

    Attributes:
        interval: from one trigger to the next; the first barrier after it is due is taken. None: every batch is
            durable before it counts as done, and no checkpoint is needed. From 10 ms.
        mode: ``EXACTLY_ONCE``, or ``AT_LEAST_ONCE``, which needs an interval.
        timeout: the time after which a checkpoint that is not complete expires. From 10 ms.
        min_pause: least time between the end of a checkpoint and the next trigger. Implies one checkpoint at a time.
        max_concurrent_checkpoints: how many may be on their way at once.
        tolerable_failed_checkpoints: how many may fail in a row before the query fails.
        externalized_checkpoint_retention: the fate of the newest checkpoints when the query ends. Unlike Flink's,
            the default keeps them: a Spark query is stopped and started again on its checkpoint folder all the time.
        num_retained: how many complete checkpoints are kept.
        incremental: whether a checkpoint names table files of earlier ones instead of uploading all of its own. None:
            as the state backend is set, which is to unless told otherwise. (Flink's default is not to.)
        data_inline_threshold: table files at most so long are put into a store's handle, in bytes or a text like
            ``"20k"``. 0 to 1m, default 20k.
        local_backup: whether each executor keeps the files of its newest checkpoint, which a task that is tried again
            loads instead of fetching them. Unlike Flink's, the default is to: they are links, and no copy is made.
        upload_changelogs: with an interval, whether each batch's changes go to the checkpoint folder too, behind the
            batch. A restart then loads them instead of replaying, and a lost executor costs a task and no restart.
        directory: the query's checkpoint folder is ``<directory>/<name of the query>``. None: the writer has an option
            ``checkpointLocation``.
        prefer_checkpoint_for_recovery: whether a recovery passes over checkpoints taken with ``savepoint=True`` as long
            as there is another, even if they are newer.
        forced: whether a query that cannot be replayed exactly is warned of instead of refused.
        file_merging: whether the stores of an executor put their snapshots' handles into one file for each checkpoint.
        file_merging_max_file_size: bytes of handles in such a file; or a text like ``"64m"``. 1m to 1g, default 32m.
        unaligned: whether rows for which a keyed function has no time before a barrier wait in its state, and are
            processed first in the next batch. For ``EXACTLY_ONCE``, and queries whose state is of keyed functions only.
        aligned_checkpoint_timeout: with ``unaligned``, the time for the rows of a batch, since it was planned; as with
            Flink, the barrier then overtakes them. From 1 ms, default 1 s.
        max_channel_bytes: most bytes of rows that wait in a partition; or a text like ``"1g"``. 1m to 1t, default 256m.
        max_channel_rows: most rows that wait in a partition. Default 10 million.
        max_batches_behind: most batches of which rows wait in a partition. Default 100.
        at_channel_limit: the behaviour of a batch whose partition begins with more than one of the three allows:
            ``ALIGN`` takes the time for all rows, ``FAIL`` fails the query.

    Raises:
        InvalidConfiguration: a value is out of its range or contradicts another; the setting is named.
    """

    interval: timedelta | None = None
    mode: CheckpointingMode | str = CheckpointingMode.EXACTLY_ONCE
    timeout: timedelta = timedelta(minutes=10)
    min_pause: timedelta = timedelta(0)
    max_concurrent_checkpoints: int = 1
    tolerable_failed_checkpoints: int = 0
    externalized_checkpoint_retention: ExternalizedCheckpointRetention | str = (
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    )
    num_retained: int = 1
    incremental: bool | None = None
    data_inline_threshold: int | str = 20 << 10
    local_backup: bool = True
    upload_changelogs: bool = False
    file_merging: bool = False
    file_merging_max_file_size: int | str = 32 << 20
    directory: str | os.PathLike[str] | None = None
    prefer_checkpoint_for_recovery: bool = False
    forced: bool = False
    unaligned: bool = False
    aligned_checkpoint_timeout: timedelta = timedelta(seconds=1)
    max_channel_bytes: int | str = 256 << 20
    max_channel_rows: int = 10_000_000
    max_batches_behind: int = 100
    at_channel_limit: ChannelLimit | str = ChannelLimit.ALIGN

    def __post_init__(self) -> None:
        for field, value in self._set():
            object.__setattr__(self, field, _SETTINGS[field].check(value))
        if self.min_pause and self.max_concurrent_checkpoints > 1:
            name = _full("max_concurrent_checkpoints")
            raise InvalidConfiguration(
                f"{_full('min_pause')} is {format_duration(self.min_pause)}, and {name} is "
                f"{self.max_concurrent_checkpoints}: a pause between checkpoints lets only one run at a time.",
                f"leave out one of them, or set {name} to 1.",
            )

        if self.is_at_least_once:
            self._check_at_least_once()

    def _check_at_least_once(self) -> None:
        mode = f"{_full('mode')} is {CheckpointingMode.AT_LEAST_ONCE.value}"
        if self.unaligned:
            raise InvalidConfiguration(
                f"{mode}, and {_full('unaligned')} is true: a row that waits is to be counted once.",
                "leave out one of them.",
            )
        if not self.takes_checkpoints:
            raise InvalidConfiguration(
                f"{mode}, and {_full('interval')} is not set: every batch is durable by itself, and counts once.",
                f"set {_full('interval')}, or leave out {_full('mode')}.",
            )

    @property
    def is_at_least_once(self) -> bool:
        """Whether a snapshot may hold later batches than its checkpoint's."""
        return CheckpointingMode(self.mode) is CheckpointingMode.AT_LEAST_ONCE

    def without_interval(self) -> CheckpointConfig:
        """The same where every batch is durable by itself, which leaves no other mode than ``EXACTLY_ONCE``."""
        return replace(self, interval=None, mode=CheckpointingMode.EXACTLY_ONCE)

    @property
    def takes_checkpoints(self) -> bool:
        """Whether there is an interval; if not, every batch is durable by itself."""
        return self.interval is not None

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark, durations as Flink writes them; what is None is left out."""
        return {_full(field): _SETTINGS[field].kind.write(value) for field, value in self._set()}

    def of_stores(self) -> dict[str, str]:
        """Those settings of Spark that executors read, when a query opens its stores."""
        return {
            _full(field): _SETTINGS[field].kind.write(value)
            for field, value in self._set()
            if _SETTINGS[field].of_stores
        }

    def to_spec(self) -> str:
        """As the jar's CheckpointSpec reads it: JSON, durations in ms, sizes in bytes."""
        fails = ChannelLimit(self.at_channel_limit) is ChannelLimit.FAIL
        unaligned = {
            "timeout_ms": self.aligned_checkpoint_timeout // _MILLISECOND,
            "max_channel_bytes": self.max_channel_bytes,
            "max_channel_rows": self.max_channel_rows,
            "max_batches_behind": self.max_batches_behind,
            "fails": fails,
        }
        return json.dumps(
            {
                "interval_ms": None if self.interval is None else self.interval // _MILLISECOND,
                "timeout_ms": self.timeout // _MILLISECOND,
                "min_pause_ms": self.min_pause // _MILLISECOND,
                "max_concurrent": self.max_concurrent_checkpoints,
                "tolerable_failures": self.tolerable_failed_checkpoints,
                "retained": self.num_retained,
                "retention": _POLICIES[ExternalizedCheckpointRetention(self.externalized_checkpoint_retention)],
                "mode": CheckpointingMode(self.mode).value,
                "unaligned": unaligned if self.unaligned else None,
                "upload_changelogs": self.upload_changelogs,
            }
        )

    @classmethod
    def from_conf(cls, conf: Mapping[str, str]) -> CheckpointConfig:
        """From settings of Spark; what is not set has its default, and other settings are ignored.

        Raises:
            InvalidConfiguration: a name below ``spark.snapline.execution.checkpointing.`` is unknown, or a value is
                out of its range.
        """
        fields = {_full(field): field for field in _SETTINGS}
        values: dict[str, Any] = {}
        for name, text in conf.items():
            if name in fields:
                values[fields[name]] = _SETTINGS[fields[name]].kind.read(name, text)
            elif name.startswith(CHECKPOINTING) and name not in STORAGE_SETTINGS:
                known = sorted({*fields, *STORAGE_SETTINGS})
                raise InvalidConfiguration(f"{name} is no setting of Snapline.", f"use one of {', '.join(known)}.")
        return cls(**values)

    def _set(self) -> list[tuple[str, Any]]:
        values = ((field, getattr(self, field)) for field in _SETTINGS)
        return [(field, value) for field, value in values if value is not None or not _SETTINGS[field].optional]
