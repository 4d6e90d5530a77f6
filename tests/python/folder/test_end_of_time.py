"""Which queries were drained."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from snapline.folder.end_of_time import END_OF_TIME_MS, is_draining, was_drained
from snapline.folder.unaligned import plan_batch_without_data
from snapline.query import CheckpointRef, LocalFiles, Recovery

from .fakes import Crash, FakeFiles, FakeSpark


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


AT_THE_END = f'v1\n{{"batchWatermarkMs":{END_OF_TIME_MS}}}\n{{"n":6}}'.encode()
COMMITTED_AT_THE_END = f'v1\n{{"nextBatchWatermarkMs":{END_OF_TIME_MS}}}'.encode()


def test_a_drain_is_cut_short_until_its_batch_is_committed() -> None:
    files = FakeFiles()
    spark = FakeSpark(files, 1)
    spark.write_logs(5, 5)
    assert not is_draining(files)
    files.put("offsets/6", AT_THE_END)
    assert (is_draining(files), was_drained(files)) == (True, False)
    files.put("commits/6", COMMITTED_AT_THE_END)
    assert (is_draining(files), was_drained(files)) == (False, True)


def recovered(fuse: int) -> tuple[FakeFiles, bool]:
    """A drained query, and whether its recovery ended before it crashed."""
    files = FakeFiles()
    spark = FakeSpark(files, 1)
    spark.write_logs(5, 5)
    files.put("offsets/6", AT_THE_END)
    files.put("commits/6", COMMITTED_AT_THE_END)

    def run_batch(batch: int) -> None:
        files.tick()
        files.put(f"commits/{batch}", COMMITTED_AT_THE_END if batch == 6 else spark.commit(batch, 1))

    files.fuse = fuse
    ended = False
    with contextlib.suppress(Crash):
        Recovery(files).run(CheckpointRef(7, 2), run_batch)
        ended = True
    files.fuse = None
    return files, ended


def test_a_drain_is_cut_short_too_while_a_recovery_has_its_batch() -> None:
    """Wherever that has crashed. Before and after it, the query was drained."""
    fuse, cut_short, ended = 0, 0, False
    while not ended:
        files, ended = recovered(fuse)
        is_pending = Recovery(files).pending() is not None
        assert is_draining(files) == is_pending
        assert is_pending or was_drained(files)
        cut_short += is_pending
        fuse += 1
    assert cut_short > 10
