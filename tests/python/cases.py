"""Which of many cases `./test` takes: those that differ most. `integration/run`, in `./test all` too, takes all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

ALL_CASES = bool(os.environ.get("SNAPLINE_ALL_CASES"))


def cases(every: Iterable[Case], chosen: Iterable[Case]) -> list[Case]:
    return list(every if ALL_CASES else chosen)
