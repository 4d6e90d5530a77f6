from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapline.errors import CheckpointDamaged, IncompatibleState, InternalError
from snapline.query import NO_CHECKPOINT, CheckpointRef, Recovery

from ..cases import cases
from ..folder.fakes import Crash, FakeFiles, FakeSpark, batches


def make(
    committed: int = 5, planned: int = 6, checkpoint_format: int = 1, drop: int = 0
) -> tuple[FakeFiles, FakeSpark, dict[str, bytes]]:
    """Files, Spark, and the files as they were."""
    files = FakeFiles()
    spark = FakeSpark(files, checkpoint_format, drop)
    spark.write_logs(committed, planned)
    return files, spark, dict(files.files)


def run_with_crashes(files: FakeFiles, spark: FakeSpark, checkpoint: CheckpointRef, fuses: Iterable[int]) -> int:
    """Every fuse is one process: it crashes after so many operations. The last one does not. How many crashed."""
    crashed = 0
    for fuse in [*fuses, None]:
        files.fuse = fuse
        try:
            Recovery(files).run(checkpoint, spark.run_batch)
            break
        except Crash:
            crashed += 1
            # What Spark sees has no gap at any time.
            offsets, commits = batches(files, "offsets"), batches(files, "commits")
            assert offsets == list(range(len(offsets)))
            assert commits == list(range(len(commits)))
            assert len(offsets) - len(commits) in (0, 1)
    files.fuse = None
    return crashed


def check_ended(files: FakeFiles, spark: FakeSpark, before: dict[str, bytes], batch: int) -> None:
    assert not [name for name in files.files if name.startswith("snapline/")]
    assert files.checksums <= files.files.keys(), "a checksum was left behind"
    if spark.commit(0, 0).startswith(b"v1"):
        assert files.files == before
    else:
        assert {name: data for name, data in files.files.items() if name.startswith("offsets/")} == {
            name: data for name, data in before.items() if name.startswith("offsets/")
        }
        committed = [name for name in before if name.startswith("commits/")]
        assert [name for name in files.files if name.startswith("commits/")] == committed
        for number in range(len(committed)):
            now, then = (json.loads(each[f"commits/{number}"].split(b"\n")[1]) for each in (files.files, before))
            assert now["nextBatchWatermarkMs"] == then["nextBatchWatermarkMs"]
            assert (now["stateUniqueIds"] == then["stateUniqueIds"]) == (number <= batch)
    # The last run of each batch comes after the last run of those before it: state was built in order.
    last = {number: position for position, number in enumerate(spark.runs)}
    assert sorted(last, key=lambda number: last[number]) == list(range(batch + 1, spark.planned + 1))


@pytest.mark.parametrize("checkpoint_format", [1, 2])
@pytest.mark.parametrize("drop", [0, 7])
@pytest.mark.parametrize(
    ("batch", "committed", "planned"), [(2, 5, 6), (2, 5, 5), (4, 5, 6), (5, 5, 6), (-1, 2, 3), (-1, -1, 0)]
)
def test_replays_each_batch_once(batch: int, committed: int, planned: int, drop: int, checkpoint_format: int) -> None:
    files, spark, before = make(committed, planned, checkpoint_format, drop)
    checkpoint = NO_CHECKPOINT if batch < 0 else CheckpointRef(7, batch)
    assert Recovery(files).run(checkpoint, spark.run_batch) == range(batch + 1, planned + 1)
    assert spark.runs == list(range(batch + 1, planned + 1))
    check_ended(files, spark, before, batch)


def test_entries_that_another_driver_writes_meanwhile_are_removed() -> None:
    """One that was taken over ends its last batch, and plans the next."""
    files, spark, before = make(5, 6)
    strays = iter(["commits/6", "offsets/7", "commits/5"])

    def run_batch(batch: int) -> None:
        spark.run_batch(batch)
        stray = next(strays, None)
        if stray is not None:
            files.write_new(stray, before["commits/5"])

    assert Recovery(files).run(CheckpointRef(7, 1), run_batch) == range(2, 7)
    check_ended(files, spark, before, 1)


def test_a_batch_that_was_not_committed_is_run_and_stays_uncommitted() -> None:
    files, spark, before = make(5, 6)
    Recovery(files).run(CheckpointRef(7, 5), spark.run_batch)
    assert spark.runs == [6]
    assert files.files == before


@pytest.mark.parametrize("checkpoint_format", [1, 2])
@pytest.mark.parametrize(("batch", "committed"), [(2, 5), (5, 5), (-1, -1)])
def test_a_batch_that_the_sink_has_keeps_its_commit(batch: int, committed: int, checkpoint_format: int) -> None:
    planned = committed + 1
    checkpoint = NO_CHECKPOINT if batch < 0 else CheckpointRef(7, batch)

    def recover(fuse: int | None) -> tuple[FakeFiles, FakeSpark, dict[str, bytes]]:
        files, spark, before = make(committed, planned, checkpoint_format)
        files.fuse = fuse
        with contextlib.suppress(Crash):
            Recovery(files).run(checkpoint, spark.run_batch, planned.__eq__)
        return files, spark, before

    steps = recover(None)[0].steps
    for fuse in [*range(steps), None]:
        files, spark, before = recover(fuse)
        files.fuse = None
        # With the commit in place and no journal, it has ended: what is run then only sweeps.
        ended = Recovery(files).pending() is None and batches(files, "commits")[-1:] == [planned]
        Recovery(files).run(CheckpointRef(7, planned) if ended else checkpoint, spark.run_batch, planned.__eq__)
        newest = json.loads(files.files.pop(f"commits/{planned}").split(b"\n")[1])
        files.checksums -= {f"commits/{planned}", "snapline/replay/hidden"}
        assert newest["nextBatchWatermarkMs"] == planned * 1000
        check_ended(files, spark, before, batch)


def test_an_entry_that_names_the_sink_of_the_replay_does_not_stay() -> None:
    files, spark, before = make(5, 6)

    def with_sink(batch: int) -> None:
        spark.run_batch(batch)
        files.put(f"commits/{batch}", b'v3\n{"nextBatchWatermarkMs":0,"sinkMetadataMap":{"s":{}}}')

    Recovery(files).run(CheckpointRef(7, 5), with_sink, lambda batch: True)
    assert files.files == before


@pytest.mark.parametrize(("committed", "planned"), [(5, 6), (5, 5), (-1, 0)])
def test_in_real_time_mode_a_batch_that_was_not_committed_is_not_run(committed: int, planned: int) -> None:
    files, spark, before = make(committed, planned)
    Recovery(files).discard_planned()
    assert files.files == {name: data for name, data in before.items() if name != f"offsets/{committed + 1}"}
    assert files.checksums == set(files.files)
    Recovery(files).run(NO_CHECKPOINT, spark.run_batch)
    assert spark.runs == list(range(committed + 1))


def test_one_that_a_recovery_has_begun_with_stays() -> None:
    files, spark, before = make(5, 6)

    def die(batch: int) -> None:
        raise Crash

    with pytest.raises(Crash):
        Recovery(files).run(CheckpointRef(7, 2), die)
    Recovery(files).discard_planned()
    Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    check_ended(files, spark, before, 2)


def test_nothing_to_replay_moves_nothing() -> None:
    files, spark, before = make(5, 5)
    files.put("snapline/replay/hidden", b"")
    assert not Recovery(files).run(CheckpointRef(7, 5), spark.run_batch)
    assert files.files == before
    assert spark.runs == []


@pytest.mark.parametrize("checkpoint_format", [1, 2])
@pytest.mark.parametrize("drop", [0, 7])
@pytest.mark.parametrize("planned", [5, 6])
def test_one_crash_anywhere(planned: int, drop: int, checkpoint_format: int) -> None:
    files, spark, _ = make(5, planned, checkpoint_format, drop)
    Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    for fuse in range(files.steps):
        files, spark, before = make(5, planned, checkpoint_format, drop)
        assert run_with_crashes(files, spark, CheckpointRef(7, 2), [fuse]) == 1
        check_ended(files, spark, before, 2)
        # A batch runs twice only if it was on its way, or all was over and nothing told of it any more.
        assert len(spark.runs) - (planned - 2) in (0, 1, planned - 2)


@pytest.mark.parametrize("checkpoint_format", [1, 2])
def test_two_crashes_anywhere(checkpoint_format: int) -> None:
    files, spark, _ = make(2, 3, checkpoint_format, drop=7)
    Recovery(files).run(CheckpointRef(7, 0), spark.run_batch)
    steps = range(files.steps)
    # The other half with the other format.
    for first in cases(steps, steps[checkpoint_format - 1 :: 2]):
        second = 0
        while True:
            files, spark, before = make(2, 3, checkpoint_format, drop=7)
            crashed = run_with_crashes(files, spark, CheckpointRef(7, 0), [first, second])
            check_ended(files, spark, before, 0)
            if crashed < 2:
                break
            second += 1


@settings(max_examples=400, deadline=None)
@given(
    batch=st.integers(-1, 5),
    more=st.integers(0, 4),
    uncommitted=st.booleans(),
    checkpoint_format=st.sampled_from([1, 2]),
    drop=st.sampled_from([0, 7]),
    fuses=st.lists(st.integers(0, 150), max_size=8),
)
def test_crashes_anywhere(
    batch: int, more: int, uncommitted: bool, checkpoint_format: int, drop: int, fuses: list[int]
) -> None:
    committed = batch + more
    planned = committed + (uncommitted or committed < 0)
    files, spark, before = make(committed, planned, checkpoint_format, drop)
    checkpoint = NO_CHECKPOINT if batch < 0 else CheckpointRef(7, batch)
    run_with_crashes(files, spark, checkpoint, fuses)
    if planned > batch:
        check_ended(files, spark, before, batch)
    else:
        assert files.files == before


@settings(max_examples=400, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["run", "older", "abandon"]), st.integers(0, 120)), max_size=8),
    drop=st.sampled_from([0, 7]),
)
def test_going_over_to_an_older_checkpoint_anywhere(steps: list[tuple[str, int]], drop: int) -> None:
    files, spark, before = make(drop=drop)
    newer, older = CheckpointRef(7, 3), CheckpointRef(6, 1)
    for act, fuse in steps:
        files.fuse = fuse
        with contextlib.suppress(Crash):
            if act == "abandon":
                Recovery(files).abandon()
            else:
                Recovery(files).run(newer if act == "run" else older, spark.run_batch)
    files.fuse = None
    Recovery(files).abandon()
    assert files.files == before
    spark.runs.clear()
    Recovery(files).run(older, spark.run_batch)
    assert spark.runs == [2, 3, 4, 5, 6]
    check_ended(files, spark, before, 1)


def test_tells_of_what_has_begun() -> None:
    files, spark, _ = make()
    assert Recovery(files).pending() is None

    def die(batch: int) -> None:
        if batch == 4:
            raise Crash
        spark.run_batch(batch)

    with pytest.raises(Crash):
        Recovery(files).run(CheckpointRef(7, 2), die)
    pending = Recovery(files).pending()
    assert pending is not None
    assert (pending.ref, pending.committed, pending.planned) == (CheckpointRef(7, 2), 5, 6)
    Recovery(files).run(pending.ref, spark.run_batch)
    assert spark.runs == [3, 4, 5, 6]


def test_one_that_is_rewound_begins_with_its_checkpoint_wherever_it_was() -> None:
    files, spark, _ = make(drop=7)
    Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    for fuse in range(files.steps):
        files, spark, before = make(drop=7)
        files.fuse = fuse
        with contextlib.suppress(Crash):
            Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
        files.fuse = None
        pending = Recovery(files).pending()
        Recovery(files).rewind()
        assert Recovery(files).pending() == pending
        spark.runs.clear()
        Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
        assert spark.runs == [3, 4, 5, 6]
        check_ended(files, spark, before, 2)


@pytest.mark.parametrize("left", [b"", bytes(20), b'v1\n{"nextBatch'])
def test_an_entry_that_a_power_failure_has_cut_short_begins_it_anew(left: bytes) -> None:
    files, spark, before = make(checkpoint_format=2)

    def die(batch: int) -> None:
        if batch == 6:
            raise Crash
        spark.run_batch(batch)

    with pytest.raises(Crash):
        Recovery(files).run(CheckpointRef(7, 2), die)
    # Before the last one that was replayed, so that entries behind it are revealed.
    files.files["commits/4"] = left
    Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    assert spark.runs == [3, 4, 5, 3, 4, 5, 6]
    check_ended(files, spark, before, 2)


@pytest.mark.parametrize("lost", ["offsets/2", "offsets/4", "commits/2", "commits/4"])
def test_lost_entries_are_refused_before_anything_moves(lost: str) -> None:
    files, spark, _ = make()
    del files.files[lost]
    before = dict(files.files)
    with pytest.raises(CheckpointDamaged, match=lost):
        Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    assert files.files == before


@pytest.mark.parametrize("cut", ["offsets/3", "offsets/6", "commits/5"])
def test_entries_that_were_cut_short_are_refused_before_anything_moves(cut: str) -> None:
    files, spark, _ = make()
    files.files[cut] = files.files[cut][:20]
    before = dict(files.files)
    with pytest.raises(CheckpointDamaged, match=f"{cut}.* cannot be read"):
        Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    assert files.files == before
    assert spark.runs == []


@pytest.mark.parametrize(("batch", "committed", "planned"), [(6, 5, 6), (2, 5, 7), (2, 5, 4)])
def test_logs_that_do_not_fit_are_refused(batch: int, committed: int, planned: int) -> None:
    files, spark, _ = make(committed, planned)
    with pytest.raises(CheckpointDamaged, match=f"offsets up to batch {planned} and commits up to batch {committed}"):
        Recovery(files).run(CheckpointRef(7, batch), spark.run_batch)


def test_another_result_is_told_and_runs_again() -> None:
    files, spark, before = make()

    def otherwise(batch: int) -> None:
        spark.run_batch(batch)
        if batch == 4:
            files.put("commits/4", b'v1\n{"nextBatchWatermarkMs":4001}')

    with pytest.raises(IncompatibleState, match="nextBatchWatermarkMs"):
        Recovery(files).run(CheckpointRef(7, 2), otherwise)
    Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    assert spark.runs == [3, 4, 4, 5, 6]
    assert files.files == before


def test_a_crash_while_another_result_is_removed() -> None:
    def otherwise(batch: int) -> None:
        spark.run_batch(batch)
        if batch == 4:
            files.put("commits/4", b'v1\n{"nextBatchWatermarkMs":4001}')

    for fuse in range(80):
        files, spark, before = make()
        files.fuse = fuse
        with pytest.raises((Crash, IncompatibleState)):
            Recovery(files).run(CheckpointRef(7, 2), otherwise)
        files.fuse = None
        # Of batch 4, the wrong entry may still be there.
        with contextlib.suppress(IncompatibleState):
            Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
        Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
        assert files.files == before


def test_a_run_that_did_nothing_is_told() -> None:
    files, _, _ = make()
    with pytest.raises(InternalError, match="batch 3 ended without a commit"):
        Recovery(files).run(CheckpointRef(7, 2), lambda batch: None)


def test_a_run_that_went_on_is_told_and_undone() -> None:
    files, spark, before = make()

    def too_far(batch: int) -> None:
        spark.run_batch(batch)
        if batch == 4:
            files.put("offsets/5", b"v1\n{}\n999")
            files.put("commits/5", b"v1\n{}")

    with pytest.raises(InternalError, match="batch 4 went on"):
        Recovery(files).run(CheckpointRef(7, 2), too_far)
    Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
    assert spark.runs == [3, 4, 5, 6]
    assert files.files == before


def test_hidden_entries_without_a_journal_are_not_thrown_away() -> None:
    files, spark, _ = make()
    files.put("snapline/replay/offsets/7", b"")
    with pytest.raises(CheckpointDamaged, match="there is no snapline/replay/journal"):
        Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"kind":"replay","format":1}', b"\xff"])
def test_a_damaged_journal_is_told(text: bytes) -> None:
    files, spark, _ = make()
    files.put("snapline/replay/journal", text)
    with pytest.raises(CheckpointDamaged, match="journal cannot be read"):
        Recovery(files).run(CheckpointRef(7, 2), spark.run_batch)
