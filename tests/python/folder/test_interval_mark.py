from __future__ import annotations

import pytest

from snapline.folder.interval_mark import INTERVAL_MARK, durable_before, make_mark
from snapline.folder.journal import NO_CHECKPOINT, CheckpointRef

from .fakes import FakeFiles, FakeSpark


def test_says_up_to_which_batch_state_was_durable() -> None:
    files = FakeFiles()
    assert durable_before(files) == NO_CHECKPOINT
    FakeSpark(files, 1).write_logs(committed=4, planned=5)
    files.write_new(INTERVAL_MARK, make_mark(files))
    assert files.read(INTERVAL_MARK) == b"4"
    assert durable_before(files) == CheckpointRef(0, 4)


@pytest.mark.parametrize("text", [b"-1", b"", b"no number", b"\xff"])
def test_of_a_query_that_began_with_an_interval_nothing_was(text: bytes) -> None:
    files = FakeFiles()
    assert make_mark(files) == b"-1"
    files.put(INTERVAL_MARK, text)
    assert durable_before(files) == NO_CHECKPOINT
