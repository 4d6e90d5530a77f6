"""The table of settings: each default fits, and the package's classes say the same."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from snapline import JobManagerCheckpointStorage
from snapline.query import CheckpointConfig
from snapline.settings.checkpoint_config import _SETTINGS
from snapline.settings.checks import check_settings
from snapline.settings.names import CHECKPOINTING, MAX_STATE_SIZE
from snapline.settings.table import settings


@pytest.mark.parametrize("name", settings())
def test_a_default_is_one_of_the_values(name: str) -> None:
    setting = settings()[name]
    assert setting.text
    assert setting.kind.range
    if setting.default is not None:
        value = setting.kind.check(name, setting.kind.read(name, setting.default))
        # The way back gives the text of the table.
        assert setting.kind.write(value) == setting.default


def test_defaults_of_checkpoint_config_are_those_of_the_table() -> None:
    conf = CheckpointConfig().to_conf()
    below = {name: each.default for name, each in settings().items() if each.section == "Checkpoints"}
    assert {name: conf.get(name) for name in below} == below
    assert set(below) == {each.full for each in _SETTINGS.values()} - {CHECKPOINTING + "incremental"}
    assert JobManagerCheckpointStorage().to_conf()[MAX_STATE_SIZE] == settings()[MAX_STATE_SIZE].default


def test_words_are_those_of_their_enums() -> None:
    enums: dict[str, Any] = {each.full: each.enum for each in _SETTINGS.values() if each.enum}
    assert len(enums) == 3
    for name, enum in enums.items():
        assert issubclass(enum, Enum)
        assert {str(each.value) for each in enum} == set(settings()[name].kind.values)  # type: ignore[attr-defined]


def test_the_defaults_go_together() -> None:
    check_settings({name: each.default for name, each in settings().items() if each.default is not None})
