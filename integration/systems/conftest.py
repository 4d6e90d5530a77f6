"""Servers that tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .broker import Broker
from .postgres import Postgres


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    try:
        yield broker
    finally:
        broker.process.kill()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    postgres = Postgres(tmp_path_factory.mktemp("postgres"))
    postgres.start()
    try:
        yield postgres
    finally:
        postgres.process.kill()
