"""Files that are a frame without blocks: all they say is in their meta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from snapline.errors import CheckpointDamaged
from snapline.format.frame import FrameReader
from snapline.format.members import BadMeta, meta_object
from snapline.format.names import Kind
from snapline.format.source import BytesSource

T = TypeVar("T")


def parse_meta_file(
    data: bytes,
    path: str,
    kind: Kind,
    parse: Callable[[dict[str, Any]], T],
    damaged: Callable[[str, str], CheckpointDamaged],
) -> T:
    """
    Args:
        parse: makes what is wanted of the meta, or raises BadMeta.
        damaged: makes the error for a path, and what is wrong there.

    Raises:
        CheckpointDamaged: a check fails, or a member is missing or of another type.
        UnsupportedVersion: the format number is unknown.
    """
    try:
        return parse(meta_object(FrameReader(BytesSource(data, path), kind).meta, kind))
    except BadMeta as e:
        raise damaged(path, f"its meta cannot be read: {e}") from None
    except CheckpointDamaged as e:
        raise damaged(path, e.found.removeprefix(f"{path}: ").removesuffix(".")) from None
