# mypy: disable-error-code="import-not-found"
from typing import Any

from snapline_bench.soak import KINDS, points

END = 600.0


def samples() -> list[dict[str, Any]]:
    """A life that grows and is killed, and one that is flat from its 90th second on; files that grow with each kill."""
    found = []
    for at in range(0, 600, 5):
        life, since = (0, at) if at < 250 else (1, at - 280)
        value = None if at % 10 else (100.0 + at if life == 0 else 50.0 + min(since, 90))
        found.append(
            {"at": float(at), "life": life, "since": float(since), "heap": value, "checkpoint_files": 10 + life}
        )
    return found


def test_what_a_process_holds_counts_in_the_last_life_when_it_has_settled() -> None:
    chosen = points(samples(), "heap", KINDS["heap"], settle_s=90, end=END)
    assert {point.value for point in chosen} == {140.0}
    assert min(point.at for point in chosen) >= 280 + 90
    assert len(chosen) > 10


def test_what_outlives_a_process_counts_over_the_kills() -> None:
    chosen = points(samples(), "checkpoint_files", KINDS["checkpoint_files"], settle_s=90, end=END)
    assert {point.value for point in chosen} == {10, 11}
    assert min(point.at for point in chosen) == END / 6
