"""What a folder says of the savepoint that it was begun with."""

from __future__ import annotations

import json

import pytest

from snapline.errors import CheckpointDamaged
from snapline.folder.restored import Restored, Waiting, read_restored

from .fakes import FakeFiles

NAME = "snapline/restored"


@pytest.mark.parametrize(
    "restored", [Restored("5d", "file:/savepoints/1"), Restored("5d", "s3a://b/1", Waiting(7, (0, 2)))]
)
def test_what_is_written_is_read(restored: Restored) -> None:
    files = FakeFiles()
    assert read_restored(files) is None
    restored.write(files)
    assert read_restored(files) == restored


def test_that_of_an_earlier_version_does_not_say_where_rows_wait() -> None:
    files = FakeFiles()
    files.put(NAME, json.dumps({"savepoint": "5d", "from": "x", "waiting": 0}).encode())
    assert read_restored(files) == Restored("5d", "x", Waiting(0, ()))


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[]", b"{}", b'{"savepoint": "5d"}', b'{"savepoint": "5d", "from": "x", "waiting": -1}']
)
def test_anything_else_is_damage(data: bytes) -> None:
    files = FakeFiles()
    files.put(NAME, data)
    with pytest.raises(CheckpointDamaged, match="does not name a savepoint") as error:
        read_restored(files)
    assert NAME in str(error.value)
