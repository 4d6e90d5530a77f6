"""The messages that the server's plug-in knows."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from snapline._version import __version__

_TYPES = "type.googleapis.com/snapline."
FUNCTION = f"{_TYPES}Function"
CALL = f"{_TYPES}Call"
FRAME = f"{_TYPES}Frame"


def pack(header: Mapping[str, Any], **parts: Sequence[bytes]) -> bytes:
    """A header in JSON with its length before it, and then the parts, whose lengths the header has by their names."""
    lengths = {name: [*map(len, values)] for name, values in parts.items()}
    text = json.dumps({"version": __version__, **header, **lengths}).encode()
    return b"".join([struct.pack(">i", len(text)), text, *(part for values in parts.values() for part in values)])
