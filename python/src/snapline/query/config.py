"""When checkpoints are taken, and what becomes of them: Flink's settings under Flink's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from snapline.config import CHECKPOINTING, STORAGE_SETTINGS
from snapline.errors import InvalidConfiguration
from snapline.query.duration import format_duration, parse_duration

MODE = CHECKPOINTING + "mode"
INTERVAL = CHECKPOINTING + "interval"
TIMEOUT = CHECKPOINTING + "timeout"
MIN_PAUSE = CHECKPOINTING + "min-pause"
MAX_CONCURRENT = CHECKPOINTING + "max-concurrent-checkpoints"
TOLERABLE_FAILED = CHECKPOINTING + "tolerable-failed-checkpoints"
RETENTION = CHECKPOINTING + "externalized-checkpoint-retention"
NUM_RETAINED = CHECKPOINTING + "num-retained"
LOCAL_BACKUP = CHECKPOINTING + "local-backup.enabled"

SETTINGS = (MODE, INTERVAL, TIMEOUT, MIN_PAUSE, MAX_CONCURRENT, TOLERABLE_FAILED, RETENTION, NUM_RETAINED, LOCAL_BACKUP)

# CheckpointCoordinatorConfiguration.MINIMAL_CHECKPOINT_TIME of Flink.
_MINIMAL = timedelta(milliseconds=10)
_MILLISECOND = timedelta(milliseconds=1)
_LONGEST = timedelta(days=365)
_MOST = 2**31 - 1


class CheckpointingMode(str, Enum):
    """What a checkpoint promises. Flink's AT_LEAST_ONCE is still to come."""

    EXACTLY_ONCE = "EXACTLY_ONCE"


class ExternalizedCheckpointRetention(str, Enum):
    """What becomes of the newest checkpoints when the query ends."""

    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"


_POLICIES = {
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: "NEVER_RETAIN_AFTER_TERMINATION",
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: "RETAIN_ON_FAILURE",
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: "RETAIN_ON_CANCELLATION",
}


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """Settings of the checkpoints of one query.

    Attributes:
        interval: from one trigger to the next; the first barrier after it is due is taken. None: every batch is
            durable before it counts as done, and no checkpoint is needed. From 10 ms.
        mode: ``EXACTLY_ONCE``.
        timeout: after which a checkpoint that is not complete expires. From 10 ms.
        min_pause: least time between the end of a checkpoint and the next trigger. Implies one checkpoint at a time.
        max_concurrent_checkpoints: how many may be on their way at once.
        tolerable_failed_checkpoints: how many may fail in a row before the query fails.
        externalized_checkpoint_retention: what becomes of the newest checkpoints when the query ends. Unlike Flink's,
            the default keeps them: a Spark query is stopped and started again on its checkpoint folder all the time.
        num_retained: how many complete checkpoints are kept.
        local_backup: whether each executor keeps the files of its newest checkpoint, which a task that is tried again
            loads instead of fetching them. Unlike Flink's, the default is to: they are links, and no copy is made.

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
    local_backup: bool = True

    def __post_init__(self) -> None:
        mode, retention = self.mode, self.externalized_checkpoint_retention
        object.__setattr__(self, "mode", _choice(MODE, mode, CheckpointingMode))
        object.__setattr__(
            self,
            "externalized_checkpoint_retention",
            _choice(RETENTION, retention, ExternalizedCheckpointRetention),
        )
        if self.interval is not None:
            _check_duration(INTERVAL, self.interval, _MINIMAL)
        _check_duration(TIMEOUT, self.timeout, _MINIMAL)
        _check_duration(MIN_PAUSE, self.min_pause, timedelta(0))
        _check_number(MAX_CONCURRENT, self.max_concurrent_checkpoints, 1)
        _check_number(TOLERABLE_FAILED, self.tolerable_failed_checkpoints, 0)
        _check_number(NUM_RETAINED, self.num_retained, 1)
        if type(self.local_backup) is not bool:
            raise InvalidConfiguration(f"{LOCAL_BACKUP} is {self.local_backup!r}.", "set it to True or False.")
        if self.min_pause and self.max_concurrent_checkpoints > 1:
            raise InvalidConfiguration(
                f"{MIN_PAUSE} is {format_duration(self.min_pause)}, and {MAX_CONCURRENT} is "
                f"{self.max_concurrent_checkpoints}: a pause between checkpoints lets only one run at a time.",
                f"leave out one of them, or set {MAX_CONCURRENT} to 1.",
            )

    @property
    def takes_checkpoints(self) -> bool:
        """Whether there is an interval; if not, every batch is durable by itself."""
        return self.interval is not None

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark, durations as Flink writes them; without an interval, that setting is left out."""
        conf = {
            MODE: CheckpointingMode(self.mode).value,
            TIMEOUT: format_duration(self.timeout),
            MIN_PAUSE: format_duration(self.min_pause),
            MAX_CONCURRENT: str(self.max_concurrent_checkpoints),
            TOLERABLE_FAILED: str(self.tolerable_failed_checkpoints),
            RETENTION: ExternalizedCheckpointRetention(self.externalized_checkpoint_retention).value,
            NUM_RETAINED: str(self.num_retained),
            LOCAL_BACKUP: str(self.local_backup).lower(),
        }
        return conf if self.interval is None else {INTERVAL: format_duration(self.interval), **conf}

    def to_coordinator(self) -> tuple[int, int, int, int, int, int, str]:
        """As the jar's coordinator takes them: durations in ms, an interval of -1 for none."""
        return (
            -1 if self.interval is None else self.interval // _MILLISECOND,
            self.timeout // _MILLISECOND,
            self.min_pause // _MILLISECOND,
            self.max_concurrent_checkpoints,
            self.tolerable_failed_checkpoints,
            self.num_retained,
            _POLICIES[ExternalizedCheckpointRetention(self.externalized_checkpoint_retention)],
        )

    @classmethod
    def from_conf(cls, conf: Mapping[str, str]) -> CheckpointConfig:
        """From settings of Spark; what is not set has its default, and other settings are ignored.

        Raises:
            InvalidConfiguration: a name below ``spark.snapline.execution.checkpointing.`` is unknown, or a value is
                out of its range.
        """
        for name in conf:
            if name.startswith(CHECKPOINTING) and name not in SETTINGS + STORAGE_SETTINGS:
                raise InvalidConfiguration(
                    f"{name} is no setting of Snapline.",
                    f"use one of {', '.join(sorted(SETTINGS + STORAGE_SETTINGS))}.",
                )
        default = cls()
        return cls(
            interval=parse_duration(INTERVAL, conf[INTERVAL]) if INTERVAL in conf else None,
            mode=conf.get(MODE, default.mode),
            timeout=_duration(conf, TIMEOUT, default.timeout),
            min_pause=_duration(conf, MIN_PAUSE, default.min_pause),
            max_concurrent_checkpoints=_number(conf, MAX_CONCURRENT, default.max_concurrent_checkpoints),
            tolerable_failed_checkpoints=_number(conf, TOLERABLE_FAILED, default.tolerable_failed_checkpoints),
            externalized_checkpoint_retention=conf.get(RETENTION, default.externalized_checkpoint_retention),
            num_retained=_number(conf, NUM_RETAINED, default.num_retained),
            local_backup=_flag(conf, LOCAL_BACKUP, default.local_backup),
        )


def _choice(name: str, value: str, kind: type[Enum]) -> Enum:
    try:
        return kind(value.strip().upper().replace("-", "_"))
    except (AttributeError, ValueError):
        wanted = ", ".join(str(each.value) for each in kind)
        raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to one of {wanted}.") from None


def _check_duration(name: str, value: timedelta, least: timedelta) -> None:
    if not isinstance(value, timedelta) or not least <= value <= _LONGEST:
        raise InvalidConfiguration(
            f"{name} is {value!r}.",
            f"set it to a timedelta from {format_duration(least)} to {format_duration(_LONGEST)}.",
        )


def _check_number(name: str, value: int, least: int) -> None:
    if type(value) is not int or not least <= value <= _MOST:
        raise InvalidConfiguration(f"{name} is {value!r}.", f"set it to a whole number from {least} on.")


def _duration(conf: Mapping[str, str], name: str, default: timedelta) -> timedelta:
    return parse_duration(name, conf[name]) if name in conf else default


def _number(conf: Mapping[str, str], name: str, default: int) -> int:
    text = conf.get(name, str(default)).strip()
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise InvalidConfiguration(f"{name} is '{text}'.", "set it to a whole number.")
    return int(text)


def _flag(conf: Mapping[str, str], name: str, default: bool) -> bool:
    text = conf.get(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise InvalidConfiguration(f"{name} is '{text}'.", "set it to true or false.")
    return text == "true"
