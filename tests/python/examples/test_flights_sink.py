# mypy: disable-error-code="import-not-found"
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sink


@pytest.fixture
def output(tmp_path):
    """A sink's folder as Spark leaves it: batches 0 and 1 compacted, batch 2 after them, one file of a killed batch."""
    folder = tmp_path / "a folder"
    log = folder / "_spark_metadata"
    log.mkdir(parents=True)
    for number in range(4):
        pq.write_table(pa.table({"n": [number, None]}), folder / f"part-{number}.parquet")

    def entry(name, numbers):
        lines = [json.dumps({"path": (folder / f"part-{n}.parquet").as_uri(), "action": "add"}) for n in numbers]
        (log / name).write_text("\n".join(["v1", *lines]))

    entry("0", [0])
    entry("1.compact", [0, 1])
    entry("2", [2])
    (log / ".2.crc").write_bytes(b"")
    return folder


def test_each_committed_file_is_read_once(output):
    frame = sink.read(output)
    assert frame["n"].dtype == "Int64"
    assert frame["n"].dropna().tolist() == [0, 1, 2]
    assert len(frame) == 6


def test_files_of_a_killed_batch_are_counted_and_not_read(output):
    assert sink.leftovers(output) == 1
    assert [file.name for file in sink.committed(output)] == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
