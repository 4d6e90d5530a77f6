# mypy: disable-error-code="import-not-found"
import json
from pathlib import Path
from typing import Any

import pytest
from snapline_bench import everything, venv

NAMES = ["aggregation", "soak"]
RUN = {"provider": "snapline", "rep": 0, "figures": {"others": 0.1}, "batches": []}


class Tree:
    """A tree in which a bench takes no time: those in `fails` leave nothing behind."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.fails, self.ran = root, set[str](), list[str]()
        self.commit = "c1"
        monkeypatch.setattr(venv, "BUILD", root / "build" / "bench")
        monkeypatch.setattr(venv, "make", self._no_packages)
        monkeypatch.setattr(everything, "one", self._one)
        monkeypatch.setattr(everything, "commit", lambda _: self.commit)
        monkeypatch.setattr(everything.machine, "describe", lambda: {"cores": 2})

    def run(self, only: list[str] = NAMES, quick: bool = True, fresh: bool = False) -> Any:
        self.ran = []
        return everything.run(self.root, only, quick, None, fresh)

    def folders(self) -> list[Path]:
        return sorted((self.root / "build" / "bench" / "all").iterdir())

    def report(self) -> Any:
        return json.loads((self.folders()[-1] / "report.json").read_text())

    def _one(self, root: Path, folder: Path, name: str, quick: bool, minutes: float | None) -> str:
        self.ran.append(name)
        about = {"command": name, "seconds": 1, "other_load": 0.5, "load_average_most": 1, "last_line": "it broke"}
        everything.write(folder / f"{name}.about.json", about)
        if name in self.fails:
            return "FAILED"
        figures = dict.fromkeys(everything.BENCHES[name].figures, 1.0)
        run = {**RUN, "figures": {**figures, "others": 0.1}}
        everything.write(everything.result_of(folder, name), {"runs": [run], "failed": []})
        return "done"

    def _no_packages(self, *_: object) -> None:
        raise venv.NotInstalled("no network")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    # Of one second, so that two runs would have one name.
    times = iter(range(100))
    monkeypatch.setattr(everything.time, "strftime", lambda _: f"20260101-{next(times):06d}")
    return Tree(tmp_path, monkeypatch)


def test_all_benches_and_a_report(tree: Tree) -> None:
    assert tree.run() == 0
    assert tree.ran == NAMES
    (folder,) = tree.folders()
    assert [each["state"] for each in tree.report()["benches"]] == ["done", "done"]
    assert "</html>" in (folder / "report.html").read_text()


def test_one_that_fails_does_not_keep_the_others_from_running(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    tree.fails = {"aggregation"}
    assert tree.run() == 1
    assert tree.ran == NAMES
    assert [each["state"] for each in tree.report()["benches"]] == ["failed", "done"]
    assert "FAILED: aggregation: it broke" in capsys.readouterr().out
    assert "it broke" in (tree.folders()[-1] / "report.html").read_text()


def test_it_goes_on_with_what_has_no_result(tree: Tree) -> None:
    tree.fails = {"aggregation"}
    tree.run()
    tree.fails = set()
    assert tree.run() == 0
    assert tree.ran == ["aggregation"]
    assert len(tree.folders()) == 1
    assert tree.report()["failures"] == []


def test_it_goes_on_where_it_was_stopped(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object) -> str:
        if args[2] == "soak":
            raise KeyboardInterrupt
        return tree._one(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(everything, "one", stopped)
        assert tree.run() == 1
    assert [each["state"] for each in tree.report()["benches"]] == ["done", "not run"]
    assert tree.run() == 0
    assert tree.ran == ["soak"]


def test_what_has_ended_is_begun_anew(tree: Tree) -> None:
    tree.run()
    assert tree.run() == 0
    assert tree.ran == NAMES
    assert len(tree.folders()) == 2


@pytest.mark.parametrize("change", ["commit", "sizes", "benches", "fresh"])
def test_another_run_is_not_gone_on_with(tree: Tree, change: str) -> None:
    tree.fails = {"soak"}
    tree.run()
    if change == "commit":
        tree.commit = "c2"
    only = ["soak"] if change == "benches" else NAMES
    tree.run(only, quick=change != "sizes", fresh=change == "fresh")
    assert tree.ran == only
    assert len(tree.folders()) == 2


def test_an_unknown_bench_is_refused(tree: Tree) -> None:
    with pytest.raises(SystemExit, match="no bench nothing; there are aggregation"):
        tree.run(["nothing"])


def test_a_bench_that_is_given_its_time_has_its_full_sizes() -> None:
    assert everything.arguments("soak", True, 30.0) == ["--minutes", "30.0"]
    assert everything.arguments("aggregation", True, 30.0) == ["--quick", "--reps", "1"]
    assert everything.arguments("soak", True, None) == ["--quick", "--reps", "1"]
