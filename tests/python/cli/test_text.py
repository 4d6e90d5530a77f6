from __future__ import annotations

import pytest

from snapline.cli.text import number, ranges, share, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1.0 kB"),
        (1000, "1.0 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (1_090_000, "1.1 MB"),
        (2_500_000_000, "2.5 GB"),
        (4e15, "4000.0 TB"),
        (None, "-"),
    ],
)
def test_size(count: float | None, text: str) -> None:
    assert size(count) == text


def test_ranges() -> None:
    assert ranges([]) == "none"
    assert ranges([4]) == "4"
    assert ranges([1, 2, 3, 5, 8, 9]) == "1-3, 5, 8-9"


def test_share_and_number() -> None:
    assert (share(1, 8), share(0, 5), share(0, 0)) == ("12 %", "0 %", "-")
    assert (number(1234567), number(0), number(None)) == ("1,234,567", "0", "-")
