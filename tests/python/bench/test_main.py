# mypy: disable-error-code="import-not-found"
import sys

import pytest
from snapline_bench import __main__ as command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eviction", "--operators", "window,tumbling"], "eviction has no tumbling among its operators: window, "),
        (["nexmark", "--queries", "q3,q99,q1"], "nexmark has no q1, q99 among its queries: q3, "),
        (["eviction", "--queries", "q3"], "eviction knows no queries"),
    ],
)
def test_words_that_a_bench_does_not_know_are_named_before_it_runs(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")  # the command sets it, and must not for other tests
    monkeypatch.setattr(sys, "argv", ["bench/run", *words])
    monkeypatch.setattr("snapline_bench.venv.make", lambda *_: pytest.fail("Flink is installed for it"))
    monkeypatch.setattr(command.machine, "describe", lambda: pytest.fail("it runs"))

    with pytest.raises(SystemExit, match=f"^{message}"):
        command.main()
