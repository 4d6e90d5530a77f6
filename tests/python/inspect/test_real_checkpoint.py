"""What the jar writes, read without it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from snapline.inspect import CheckpointFolder, open_store, verify

from ..spark_jar import need_jar

# docs/FORMAT.md, section 5: the key group, then Spark's encoding: a version byte, a word of null bits, the number.
KEY_GROUP = struct.Struct(">H")
KEY = struct.Struct("<BQq")


@pytest.mark.parametrize("checkpoint_format", ["1", "2"])
def test_rows_are_those_spark_reads(tmp_path: Path, checkpoint_format: str) -> None:
    need_jar()
    script = Path(__file__).parent / "real_query.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, checkpoint_format],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    expected = {int(version): keys for version, keys in json.loads(done.stdout).items()}
    assert len(expected[6]) == 350

    checkpoint = CheckpointFolder(tmp_path / "checkpoint")
    assert verify(checkpoint).findings == ()
    assert checkpoint.newest_loadable() == max(expected)
    assert bool(checkpoint.uids(1)) == (checkpoint_format == "2")
    assert all(store.snapshots() for store in checkpoint.stores)
    for version, keys in expected.items():
        assert read_keys(checkpoint, version) == keys


def read_keys(checkpoint: CheckpointFolder, version: int) -> list[list[int]]:
    """Key group and key of every row, in order."""
    found = []
    for store in checkpoint.stores:
        with open_store(store, version, checkpoint.uids(version).get(store.key)) as contents:
            assert [(family.name, family.key_groups) for family in contents.families] == [("default", True)]
            for row in contents.rows():
                (key_group,) = KEY_GROUP.unpack_from(row.key)
                found.append([key_group, KEY.unpack_from(row.key, KEY_GROUP.size)[2]])
    return sorted(found)
