"""The form that the server's plug-in reads."""

from __future__ import annotations

import json
import struct

from snapline import __version__
from snapline.remote.message import pack


def test_parts_follow_the_header_in_its_order() -> None:
    message = pack({"call": "plan"}, inputs=[b"rows", b""], functions=[b"of"])
    (length,) = struct.unpack(">i", message[:4])
    header = json.loads(message[4 : 4 + length])
    assert header == {"version": __version__, "call": "plan", "inputs": [4, 0], "functions": [2]}
    assert message[4 + length :] == b"rowsof"
