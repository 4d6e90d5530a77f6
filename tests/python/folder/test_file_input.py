"""Which input files a batch reads, by Spark's logs alone."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlparse

import pytest

from snapline.folder.file_input import FileInput
from snapline.folder.files import LocalFiles


class FilesAnywhere(LocalFiles):
    def exists_at(self, uri: str) -> bool:
        return Path(urlparse(uri).path).exists()


class Folder:
    """A checkpoint folder with two sources, of which the second is one of files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for folder in ("offsets", "sources/1", "input"):
            (path / folder).mkdir(parents=True)

    def plan(self, batch: int, offset: int | None) -> None:
        second = "-" if offset is None else json.dumps({"logOffset": offset})
        (self.path / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"topic":{{"0":{batch}}}}}\n{second}')

    def take_in(self, name: str, *numbers: int) -> None:
        """An entry of the source's log, with a file for each of these numbers."""
        entries = [{"path": self.uri(number), "timestamp": 1, "batchId": number} for number in numbers]
        (self.path / "sources/1" / name).write_text("\n".join(["v1", *map(json.dumps, entries)]))
        for number in numbers:
            (self.path / "input" / str(number)).touch()

    def uri(self, number: int) -> str:
        return f"file://{self.path}/input/{number}"

    def lose(self, number: int) -> None:
        (self.path / "input" / str(number)).unlink()

    def missing(self, batch: int) -> list[str]:
        return FileInput(FilesAnywhere(self.path)).missing(batch)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    for batch, offset in enumerate([None, 1, 1, 4]):
        folder.plan(batch, offset)
    for number in range(5):
        folder.take_in(str(number), number)
    return folder


def test_each_batch_misses_its_own_files(folder: Folder) -> None:
    for number in (0, 1, 3):
        assert all(folder.missing(batch) == [] for batch in range(4) if number == 0)
        folder.lose(number)
    assert folder.missing(0) == []
    assert folder.missing(1) == [folder.uri(0), folder.uri(1)]
    assert folder.missing(2) == []
    assert folder.missing(3) == [folder.uri(3)]


def test_entries_that_were_compacted(folder: Folder) -> None:
    folder.take_in("2.compact", 0, 1, 2)
    for number in range(3):
        (folder.path / "sources/1" / str(number)).unlink()
    folder.lose(1)
    folder.lose(2)
    assert folder.missing(1) == [folder.uri(1)]
    assert folder.missing(3) == [folder.uri(2)]


@pytest.mark.parametrize("text", [None, "", "v1\n{", "v1\n[]", 'v1\n{"batchId":3}', "3\n{}"])
def test_a_log_that_does_not_tell(folder: Folder, text: str | None, caplog: pytest.LogCaptureFixture) -> None:
    folder.lose(4)
    assert folder.missing(3) == [folder.uri(4)]
    entry = folder.path / "sources/1/3"
    entry.unlink()
    if text is not None:
        entry.write_text(text)
    assert folder.missing(1) == []
    assert not caplog.records
    assert folder.missing(3) == []
    assert "sources/1" in caplog.text


def test_a_source_that_is_read_in_two_places_has_one_folder_for_two_numbers(folder: Folder) -> None:
    folder.lose(0)
    assert folder.missing(1) == [folder.uri(0)]
    (folder.path / "sources/1").rename(folder.path / "sources/0")
    assert folder.missing(1) == []


class Compact(FilesAnywhere):
    """Keeps the names of the compact entries that are read, each time one is begun."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.begun: list[str] = []

    def read(self, name: str) -> bytes:
        self._note(name)
        return super().read(name)

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        if offset == 0:
            self._note(name)
        return super().read_at(name, offset, length)

    def _note(self, name: str) -> None:
        if name.endswith(".compact"):
            self.begun.append(name)


def test_a_recovery_reads_the_newest_compact_entry_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for number in range(20):
        folder.plan(number, number)
    for number in range(10, 19):
        folder.take_in(str(number), number)
    for newest in (9, 19):
        folder.take_in(f"{newest}.compact", *range(newest + 1))
    lost = [2, 9, 15, 19]
    for number in lost:
        folder.lose(number)
    files = Compact(tmp_path)
    found = FileInput(files)  # type: ignore[arg-type]
    assert [uri for batch in range(20) for uri in found.missing(batch)] == [folder.uri(number) for number in lost]
    assert files.begun == ["sources/1/19.compact"]
    # The query goes on, and another recovery follows.
    folder.plan(20, 29)
    folder.take_in("29.compact", *range(30))
    folder.lose(25)
    assert found.missing(20) == []
    found.forget()
    assert found.missing(20) == [folder.uri(25)]
    assert files.begun == ["sources/1/19.compact", "sources/1/29.compact"]
