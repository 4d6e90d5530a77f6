"""Between a kill and the next start files are cut short, missing or left over.

Nothing is lost where an older checkpoint will do; else a coded error says what is wrong.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .check import check_output, rows_in_sqlite
from .damage import FAILS, NO_HARM, REFUSED, USES_OLDER, Checkpoints
from .expected import Results, expect, make_input
from .feed import Feed
from .life import Life
from .tally import Tally
from .work import Orders, Work

FILES = 30
RETAINED, LAG = 3, 2
# With what can be lost, the function that depends on the order takes part.
BOTH, ONE = ("chains", "totals"), ("totals",)
CASES = {**USES_OLDER, **NO_HARM, **REFUSED, **FAILS}


@dataclass(frozen=True)
class Lived:
    base: Path
    expected: Results

    def check(self, case: str, tally: Tally) -> None:
        """That the damage has cost nothing."""
        check_output(tally, self.base / case, self.expected)
        tally.faults += 1

    def check_untouched(self, case: str, tally: Tally) -> None:
        """That nothing was put out after the damage."""
        before = rows_in_sqlite(self.base / "killed" / "totals.db")
        tally.compare(case, rows_in_sqlite(self.base / case / "totals.db"), before)
        tally.faults += 1

    def log_of(self, case: str) -> str:
        log = (self.base / "lived.log").read_text(errors="replace")
        return log.partition(f"\nwork {case}\n")[2].partition("\nwork ")[0]


@pytest.fixture(scope="module", params=[1, 2])
def lived(request: pytest.FixtureRequest, files: str, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """A folder for each case, gone on with after the damage. All cases share two lives: starting Spark takes long."""
    base = tmp_path_factory.mktemp("damage")
    batches = make_input(base / "files", FILES)

    def work(name: str, queries: tuple[str, ...], interval: float = 0.5) -> Work:
        return Work(
            folder=str(base / name),
            source=str(base / "input"),
            format=request.param,
            interval=interval,
            retained=RETAINED,
            queries=queries,
            tables=queries,
        )

    killed, local = work("killed", BOTH), str(base / "local")
    feed = Feed(base / "files", [killed])
    checkpoints = [Checkpoints(killed.checkpoint(query)) for query in BOTH]

    def live(interval: float, above: Sequence[int], lag: int) -> list[int]:
        """Killed as soon as all fit. Gives the numbers of the newest checkpoints."""
        orders = Orders(works=[work("killed", BOTH, interval)], local=local, ends=False, files=files)
        life = Life(orders, base / f"killed-{lag}.log", feed)

        def fit() -> bool:
            return all(each.fits(RETAINED, number, lag) for each, number in zip(checkpoints, above, strict=True))

        assert life.kill_when(fit), life.log
        assert fit()
        return [each.complete()[0].id for each in checkpoints]

    newest = live(0.5, above=[0, 0], lag=0)
    # It takes a checkpoint at its first batch and no other: what follows only a replay brings back. Killed before that
    # is complete it would leave handles of it, or parts of them, at the version to go on from.
    live(3600, above=newest, lag=LAG)
    given = feed.given + 1
    feed.give(given)
    works = [work(case, BOTH if case in USES_OLDER else ONE) for case in CASES]
    for each in works:
        shutil.copytree(killed.path, each.path)
        for query in each.queries:
            CASES[each.path.name](Checkpoints(each.checkpoint(query)))
    orders = Orders(works=works, local=local, ends=True, files=files, together=False)
    Life(orders, base / "lived.log").end()
    return Lived(base, expect(batches[:given], BOTH))


@pytest.mark.parametrize("case", USES_OLDER)
def test_an_older_checkpoint_is_used(lived: Lived, case: str, tally: Tally) -> None:
    log = lived.log_of(case)
    assert f"failed {case}" not in log, log[-3000:]
    for query in BOTH:
        assert f"/{case}/checkpoints/{query} is set aside" in log
    lived.check(case, tally)


@pytest.mark.parametrize("case", NO_HARM)
def test_what_a_crash_leaves_is_no_harm(lived: Lived, case: str, tally: Tally) -> None:
    log = lived.log_of(case)
    assert f"failed {case}" not in log, log[-3000:]
    assert "set aside" not in log
    lived.check(case, tally)


@pytest.mark.parametrize("case", REFUSED)
def test_a_coded_error_says_what_is_wrong(lived: Lived, case: str, tally: Tally) -> None:
    log = lived.log_of(case)
    failure = next(line for line in log.splitlines() if line.startswith(f"failed {case}"))
    assert "[SNAPLINE-DAMAGED]" in failure
    assert "Replaying batch" not in log
    lived.check_untouched(case, tally)


@pytest.mark.parametrize("case", FAILS)
def test_a_store_that_does_not_find_its_state_fails_the_query(lived: Lived, case: str, tally: Tally) -> None:
    log = lived.log_of(case)
    assert "[SNAPLINE-NOT-FOUND] Version " in log, log[-3000:]
    lived.check_untouched(case, tally)
