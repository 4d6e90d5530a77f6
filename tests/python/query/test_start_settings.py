"""Queries that start side by side all keep their logs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier

import pytest

from snapline import HashMapStateBackend
from snapline.query.start_settings import LONG_LOGS, OF_RESULTS, starting_with, values_of
from snapline.settings.names import STATE_BACKEND

((RETAIN, FOR_EVER),) = LONG_LOGS.items()
ZONE, *_ = OF_RESULTS


class Settings(dict[str, str]):
    """A session's."""

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        self.pop(key, None)


@pytest.mark.parametrize("before", [{}, {RETAIN: "7"}])
def test_logs_are_long_for_each_of_many_starts_and_then_as_before(before: dict[str, str]) -> None:
    settings = Settings(before)
    together = Barrier(8)

    def start(_: int) -> set[str | None]:
        together.wait()
        seen = set()
        for _ in range(20):
            with starting_with(settings, LONG_LOGS):
                time.sleep(0.0005)
                seen.add(settings.get(RETAIN))
        return seen

    with ThreadPoolExecutor(8) as pool:
        assert set().union(*pool.map(start, range(8))) == {FOR_EVER}
    assert settings == before


def test_a_querys_settings_win_over_the_sessions_for_its_start_only() -> None:
    backend = HashMapStateBackend().to_conf()
    settings = Settings({STATE_BACKEND: "rocksdb"})
    with starting_with(settings, backend):
        assert settings == backend
    assert settings == {STATE_BACKEND: "rocksdb"}
    with starting_with(settings, {**LONG_LOGS, **backend}):
        assert settings == {**backend, RETAIN: FOR_EVER}
    assert settings == {STATE_BACKEND: "rocksdb"}


def test_what_is_set_during_a_start_that_did_not_change_it_stays() -> None:
    settings = Settings({ZONE: "UTC"})
    with starting_with(settings, {ZONE: "UTC", STATE_BACKEND: None, RETAIN: FOR_EVER}):
        settings.update({ZONE: "Asia/Tokyo", STATE_BACKEND: "hashmap"})
    assert settings == {ZONE: "Asia/Tokyo", STATE_BACKEND: "hashmap"}


def test_a_query_does_not_keep_settings_that_are_for_anothers_start() -> None:
    settings = Settings({ZONE: "Asia/Tokyo"})
    with ThreadPoolExecutor(1) as pool:
        with starting_with(settings, {ZONE: "UTC"}):
            kept = pool.submit(values_of, settings, OF_RESULTS)
            # It does not come to its end before this does.
            wait([kept], timeout=0.05)
        assert kept.result() == {**dict.fromkeys(OF_RESULTS), ZONE: "Asia/Tokyo"}
