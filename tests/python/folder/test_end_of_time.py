"""Which queries were drained."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapline.folder.end_of_time import END_OF_TIME_MS, was_drained
from snapline.folder.unaligned import plan_batch_without_data
from snapline.query import LocalFiles


def commit(folder: Path, batch: int, text: str) -> None:
    (folder / "commits").mkdir(exist_ok=True)
    (folder / "commits" / str(batch)).write_text(text)


@pytest.mark.parametrize(
    ("text", "drained"),
    [
        (f'v1\n{{"nextBatchWatermarkMs":{END_OF_TIME_MS}}}', True),
        (f'v1\n{{"nextBatchWatermarkMs":{END_OF_TIME_MS - 1}}}', False),
        ('v1\n{"nextBatchWatermarkMs":0}', False),
        ("v1\n{}", False),
        ("half", False),
    ],
)
def test_the_newest_commit_says_it(tmp_path: Path, text: str, drained: bool) -> None:
    commit(tmp_path, 0, f'v1\n{{"nextBatchWatermarkMs":{END_OF_TIME_MS}}}')
    commit(tmp_path, 11, text)
    assert was_drained(LocalFiles(tmp_path)) == drained


def test_a_new_folder_was_not(tmp_path: Path) -> None:
    assert not was_drained(LocalFiles(tmp_path))
    assert not was_drained(LocalFiles(tmp_path / "absent"))


def test_the_last_batch_has_the_watermark_and_no_rows(tmp_path: Path) -> None:
    commit(tmp_path, 4, 'v1\n{"nextBatchWatermarkMs":2000}')
    (tmp_path / "offsets").mkdir()
    entry = 'v1\n{"batchWatermarkMs":1000,"batchTimestampMs":5,"conf":{"a":"b"}}\n{"logOffset":3}'
    (tmp_path / "offsets/4").write_text(entry)
    plan_batch_without_data(LocalFiles(tmp_path), END_OF_TIME_MS, lambda: 7)
    version, metadata, *offsets = (tmp_path / "offsets/5").read_text().split("\n")
    assert (version, offsets) == ("v1", ['{"logOffset":3}'])
    assert metadata == f'{{"batchWatermarkMs":{END_OF_TIME_MS},"batchTimestampMs":7,"conf":{{"a":"b"}}}}'
    # What is planned is run first, and planned once.
    plan_batch_without_data(LocalFiles(tmp_path), END_OF_TIME_MS + 1, lambda: 9)
    assert not (tmp_path / "offsets/6").exists()
