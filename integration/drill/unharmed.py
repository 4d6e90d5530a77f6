"""A life without a kill, started by Spark alone: what others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .check import check_output, read_results
from .expected import Results, expect, make_input
from .feed import Feed
from .life import Life
from .tally import Tally
from .work import QUERIES, Orders, Work


@dataclass
class Unharmed:
    """
    Attributes:
        source: the input, file by file.
        results: what it left.
        expected: the same by plain Python.
        files: jar of LocalFiles.java.
        java: options for the drivers of other lives: an archive of the classes that it loaded.
    """

    source: Path
    results: Results
    expected: Results
    files: str
    java: Sequence[str]

    @classmethod
    def live(cls, base: Path, input_files: int, files: str) -> Unharmed:
        batches = make_input(base / "files", input_files)
        archive = base / "classes.jsa"
        work = Work(folder=str(base / "work"), plain=True)
        Feed(base / "files", [work]).give_all()
        java = [f"-XX:ArchiveClassesAtExit={archive}"]
        life = Life(
            Orders(works=[work], local=str(base / "local"), ends=True, files=files, java=java), base / "life.log"
        )
        assert life.end() == 0, "\n".join(complaints(life.log))
        # Half the time until a session is there is spent on loading classes.
        java = [f"-XX:SharedArchiveFile={archive}"]
        return cls(base / "files", read_results(work.path), expect(batches, QUERIES), files, java)

    def compare(self, tally: Tally, work: Path) -> None:
        """
        Raises:
            AssertionError: a row is missing, or is not to be there.
        """
        check_output(tally, work, self.results, self.expected)


def complaints(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [line[:500] for line in lines if "SNAPLINE-" in line or line.startswith("failed")][:20] + lines[-20:]
