"""Savepoints of rows that wait: whoever goes on from one, however many partitions it has, puts out the rest."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import snapline
from snapline import (
    CheckpointConfig,
    CheckpointedFunction,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    ListStateDescriptor,
    ProcessFunction,
)
from snapline.errors import CheckpointDamaged, IncompatibleState, InvalidConfiguration
from snapline.folder.unaligned import CUTS, rows_wait
from snapline.inspect import SavepointFolder
from snapline.savepoint import create_savepoint, read_state, rescale_checkpoint, restore_savepoint, write_savepoint

from .chains import UNALIGNED, WITH_INTERVAL, Chains
from .real_query import wait_for

Rows = list[tuple[object, ...]]


class Rest(Chains):
    """The same query on the same input, with an output and a checkpoint folder of its own; there is time for all."""

    def __init__(self, of: Chains, name: str) -> None:
        super().__init__(of.session, of.work, 0)
        self.checkpoint = of.work / name / "checkpoint"
        self.output_path = of.work / name / "output"

    def go_on_from(self, config: CheckpointConfig, **start: Any) -> Rows:
        """What it puts out until nothing waits."""
        query = snapline.start(self.writer(processingTime="0 seconds"), config, **start)
        query.processAllAvailable()
        wait_for(lambda: not rows_wait(self.files))
        query.stop()
        return self.rows_out()


@pytest.mark.parametrize("config", [UNALIGNED, WITH_INTERVAL], ids=["every batch", "interval"])
def test_a_last_savepoint_takes_them_along(slow: Chains, aligned: Rows, config: CheckpointConfig) -> None:
    savepoint = str(slow.work / "savepoint")
    query = snapline.start(slow.writer(processingTime="0 seconds"), config)
    slow.wait_until_all_is_read()
    query.stop_with_savepoint(savepoint, format="native", in_flight=True)
    assert rows_wait(slow.files)
    metadata = SavepointFolder(savepoint).metadata
    assert metadata.in_flight == tuple(operator.id for operator in metadata.operators)
    # As it can be without them: what waits is in no state that has a name.
    for operator in metadata.operators:
        for key in operator.states:
            told = read_state(savepoint, operator.id, key.name, session=slow.session).collect()
            reader = slow.session.read.format("snapline").option("operator", operator.id).option("state", key.name)
            assert sorted(reader.load(savepoint).collect(), key=repr) == sorted(told, key=repr)
    before = slow.rows_out()
    assert before != aligned
    for parallelism in (metadata.parallelism, 1 if config.takes_checkpoints else 5):
        rest = Rest(slow, f"rest-{parallelism}")
        out = rest.go_on_from(config, from_savepoint=savepoint, parallelism=parallelism)
        assert sorted([*before, *out], key=repr) == aligned, parallelism


def test_the_other_backend_gets_them_too(slow: Chains, aligned: Rows) -> None:
    savepoint = str(slow.work / "savepoint")
    query = snapline.start(
        slow.writer(processingTime="0 seconds"), UNALIGNED, state_backend=EmbeddedRocksDBStateBackend()
    )
    slow.wait_until_all_is_read()
    query.stop_with_savepoint(savepoint, format="native", in_flight=True)
    rest = Rest(slow, "rest")
    out = rest.go_on_from(UNALIGNED, from_savepoint=savepoint, state_backend=HashMapStateBackend())
    assert sorted([*slow.rows_out(), *out], key=repr) == aligned


@pytest.mark.whole
@pytest.mark.parametrize("config", [UNALIGNED, WITH_INTERVAL], ids=["every batch", "interval"])
def test_a_running_query_does_not_take_the_time_for_them(slow: Chains, aligned: Rows, config: CheckpointConfig) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), config)
    slow.wait_until_all_is_read()
    metadata = query.savepoint(str(slow.work / "savepoint"), format="native", in_flight=True)
    query.processAllAvailable()
    wait_for(lambda: not rows_wait(slow.files))
    query.stop()
    assert metadata.in_flight
    assert slow.rows_out() == aligned
    # What came after the savepoint comes again in the clone.
    out = Rest(slow, "rest").go_on_from(config, from_savepoint=str(slow.work / "savepoint"))
    assert out
    assert set(out) < set(aligned)


def test_a_drain_processes_them_first(slow: Chains, aligned: Rows) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.wait_until_all_is_read()
    metadata = query.stop_with_savepoint(str(slow.work / "savepoint"), drain=True)
    assert not rows_wait(slow.files)
    assert not metadata.in_flight
    out = Counter(slow.rows_out())
    # The end of time fires timers that the other query has left.
    assert not Counter(aligned) - out
    assert {kind for _, kind, *_ in out - Counter(aligned)} == {"timer"}
    timers = read_state(str(slow.work / "savepoint"), state="$eventTimers_timestampToKey", session=slow.session)
    assert timers.count() == 0


def test_a_checkpoint_is_rescaled_with_them(slow: Chains, aligned: Rows) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.stop_while_rows_wait(query)
    for parallelism in (1, 4):
        rest = Rest(slow, f"rest-{parallelism}")
        rescale_checkpoint(
            slow.session,
            str(slow.checkpoint),
            str(rest.checkpoint),
            parallelism=parallelism,
            file_sink=str(rest.output_path),
        )
        assert sorted([*slow.rows_out(), *rest.go_on_from(UNALIGNED)], key=repr) == aligned


def test_a_query_that_is_aligned_goes_on_from_them(slow: Chains, aligned: Rows) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.stop_while_rows_wait(query)
    savepoint = str(slow.work / "savepoint")
    create_savepoint(slow.session, str(slow.checkpoint), savepoint, format="native", in_flight=True)
    rest = Rest(slow, "rest")
    restore_savepoint(slow.session, savepoint, str(rest.checkpoint), file_sink=str(rest.output_path))
    assert rows_wait(rest.files)
    out = rest.go_on_from(CheckpointConfig())
    assert sorted([*slow.rows_out(), *out], key=repr) == aligned


def test_a_folder_that_no_batch_was_run_in_has_a_savepoint_too(slow: Chains, aligned: Rows) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.stop_while_rows_wait(query)
    session, first, second = slow.session, str(slow.work / "first"), str(slow.work / "second")
    create_savepoint(session, str(slow.checkpoint), first, format="native", in_flight=True)
    between, rest = slow.work / "between", Rest(slow, "rest")
    restore_savepoint(session, first, str(between))
    taken = create_savepoint(session, str(between), second, format="native", in_flight=True)
    assert taken.in_flight
    restore_savepoint(session, second, str(rest.checkpoint), parallelism=3, file_sink=str(rest.output_path))
    assert sorted([*slow.rows_out(), *rest.go_on_from(UNALIGNED)], key=repr) == aligned

    told = between / "snapline" / "restored"
    by_an_earlier_version = {name: value for name, value in json.loads(told.read_text()).items() if name != "operators"}
    told.write_text(json.dumps(by_an_earlier_version))
    told.with_name(".restored.crc").unlink(missing_ok=True)
    with pytest.raises(IncompatibleState, match="since an earlier version began it"):
        create_savepoint(session, str(between), str(slow.work / "third"), format="native", in_flight=True)
    told.write_text("[]")
    with pytest.raises(CheckpointDamaged, match="does not name a savepoint"):
        create_savepoint(session, str(between), str(slow.work / "third"), format="native", in_flight=True)


def test_a_batch_that_was_cut_and_not_committed_is_refused(slow: Chains) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.stop_while_rows_wait(query)
    newest = max(slow.batches("commits"))
    if newest == max(slow.batches("offsets")):
        for name in (str(newest), f".{newest}.crc"):
            (slow.checkpoint / "commits" / name).unlink()
    else:
        # The batch after it had been begun: what it has noted is as good as that of one that was cut.
        (slow.checkpoint / CUTS / str(newest)).rename(slow.checkpoint / CUTS / str(newest + 1))
    savepoint = slow.work / "savepoint"
    with pytest.raises(IncompatibleState, match="cut short before it was committed"):
        create_savepoint(slow.session, str(slow.checkpoint), str(savepoint), format="native", in_flight=True)
    assert not savepoint.exists()


def test_there_is_no_place_for_them_in_tables(slow: Chains) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    savepoint = slow.work / "savepoint"
    try:
        with pytest.raises(InvalidConfiguration, match="no place for rows"):
            query.savepoint(str(savepoint), in_flight=True)
        with pytest.raises(InvalidConfiguration, match="no place for rows"):
            query.stop_with_savepoint(str(savepoint), in_flight=True)
        with pytest.raises(InvalidConfiguration, match="end of event time"):
            query.stop_with_savepoint(str(savepoint), drain=True, format="native", in_flight=True)
        assert query.isActive
        assert not savepoint.exists()
        slow.wait_until_all_is_read()
        query.savepoint(str(savepoint), format="native", in_flight=True)
    finally:
        query.stop()
    edited = slow.work / "edited"
    with pytest.raises(IncompatibleState, match="no place for them"):
        write_savepoint(str(savepoint), str(edited), {}, session=slow.session)
    assert not edited.exists()


class Slowly(ProcessFunction, CheckpointedFunction):
    """Has no key."""

    def initialize_state(self, ctx: Any) -> None:
        self.state = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("seen", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[int]]:
        time.sleep(0.01)
        yield (row.value,)

    def snapshot_state(self, ctx: Any) -> None:
        self.state.add(1)


def test_rows_without_a_key_stay_where_they_are(slow: Chains) -> None:
    session, savepoint = slow.session, str(slow.work / "savepoint")

    def start(name: str, **options: Any) -> Any:
        rows = snapline.process(slow.rows("input", "30 seconds"), Slowly(), "value long", parallelism=2)
        writer = rows.writeStream.format("parquet").option("path", str(slow.work / name / "output"))
        writer = writer.option("checkpointLocation", str(slow.work / name / "state"))
        return snapline.start(writer, UNALIGNED, **options)

    def out(name: str) -> list[int]:
        return [row.value for row in session.read.parquet(str(slow.work / name / "output")).collect()]

    query = start("first")
    slow.checkpoint = slow.work / "first" / "state"
    slow.wait_until_all_is_read()
    query.stop_with_savepoint(savepoint, format="native", in_flight=True)
    with pytest.raises(IncompatibleState, match="rows without a key wait"):
        restore_savepoint(session, savepoint, str(slow.work / "other"), parallelism=3)
    assert not (slow.work / "other").exists()
    query = start("second", from_savepoint=savepoint)
    slow.checkpoint = slow.work / "second" / "state"
    query.processAllAvailable()
    wait_for(lambda: not rows_wait(slow.files))
    query.stop()
    assert out("second")
    rows = slow.session.read.json(str(slow.work / "input")).collect()
    assert sorted(out("first") + out("second")) == sorted(row.value for row in rows)
