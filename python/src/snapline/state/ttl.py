"""Time to live of a state, as in Flink, and in event time too."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from snapline.errors import InvalidConfiguration


class UpdateType(Enum):
    """The accesses that begin the time to live anew."""

    ON_CREATE_AND_WRITE = "create-and-write"
    ON_READ_AND_WRITE = "read-and-write"


class StateVisibility(Enum):
    """Whether a value is seen between its expiry and its clean-up."""

    NEVER_RETURN_EXPIRED = "never"
    RETURN_EXPIRED_IF_NOT_CLEANED_UP = "until-cleaned-up"


class TtlTime(Enum):
    """The clock that counts.

    ``PROCESSING_TIME`` is the time of the micro-batch. In ``EVENT_TIME`` a value lives from the time of the row or
    timer that wrote it, and has expired when the watermark reaches its end.
    """

    PROCESSING_TIME = "processing"
    EVENT_TIME = "event"


@dataclass(frozen=True)
class StateTtlConfig:
    """How long a state lives; of a list each element, of a map each entry by itself.

    Attributes:
        ttl: the time to live, longer than a millisecond.
        update_type: the accesses that begin it anew.
        visibility: whether an expired value that still exists is shown.
        time: the clock that counts.

    Raises:
        InvalidConfiguration: the time is not positive, or an argument is of another type.
    """

    ttl: timedelta
    update_type: UpdateType = field(default=UpdateType.ON_CREATE_AND_WRITE, kw_only=True)
    visibility: StateVisibility = field(default=StateVisibility.NEVER_RETURN_EXPIRED, kw_only=True)
    time: TtlTime = field(default=TtlTime.PROCESSING_TIME, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.ttl, timedelta) or self.ttl < timedelta(milliseconds=1):
            raise InvalidConfiguration(
                f"a time to live of {self.ttl!r}.", "give a timedelta of a millisecond at least: timedelta(days=2)."
            )
        wanted = {"update_type": UpdateType, "visibility": StateVisibility, "time": TtlTime}
        for name, kind in wanted.items():
            if not isinstance(getattr(self, name), kind):
                choices = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
                raise InvalidConfiguration(f"{name} is {getattr(self, name)!r}.", f"use one of {choices}.")

    @property
    def milliseconds(self) -> int:
        return self.ttl // timedelta(milliseconds=1)
