"""Checks settings before Spark starts."""

from __future__ import annotations

from collections.abc import Mapping

from snapline.errors import InvalidConfiguration
from snapline.settings.checkpoint_config import CheckpointConfig
from snapline.settings.names import CHECKPOINTING, PREFIX, STORAGE_SETTINGS
from snapline.settings.table import settings


def check_settings(conf: Mapping[str, str]) -> None:
    """Checks settings whose names begin with ``spark.snapline.``.

    Raises:
        InvalidConfiguration: a name is unknown, or a value out of its range.
    """
    if any(name.startswith(CHECKPOINTING) for name in conf):
        CheckpointConfig.from_conf(conf)
    for name, text in conf.items():
        if not name.startswith(PREFIX) or (name.startswith(CHECKPOINTING) and name not in STORAGE_SETTINGS):
            continue
        setting = settings().get(name)
        if setting is None:
            known = sorted(name for name in settings() if not name.startswith(CHECKPOINTING))
            raise InvalidConfiguration(
                f"{name} is no setting of Snapline.",
                f"use one of {', '.join([*known, *STORAGE_SETTINGS])}, or of those below {CHECKPOINTING}*.",
            )
        setting.kind.check(name, setting.kind.read(name, text))
