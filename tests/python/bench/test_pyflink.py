# mypy: disable-error-code="import-not-found"
from pathlib import Path

import pytest
from snapline_bench import keyed, pyflink, venv


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    pyflink.installed.cache_clear()


def test_where_it_cannot_be_installed_it_is_left_out_and_said_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> Path:
        raise venv.NotInstalled("no wheel for this Python")

    monkeypatch.setattr(venv, "make", fails)
    monkeypatch.setattr(keyed.provider, "find_snapline_jar", lambda _: Path("the.jar"))
    chosen = keyed.choose(["native", *pyflink.NAMES], None, {})
    assert [each.name for each in chosen] == ["native"]
    assert "no wheel for this Python; running without it" in capsys.readouterr().out


def test_nobody_who_does_not_ask_for_it_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "make", lambda *_: pytest.fail("installed"))
    monkeypatch.setattr(keyed.provider, "find_snapline_jar", lambda _: Path("the.jar"))
    assert [each.name for each in keyed.choose(["snapline"], None, {})] == ["snapline"]


def test_an_environment_is_made_when_it_is_not_there_or_wants_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []

    def runs(*command: str) -> str:
        commands.append(command[2])
        (tmp_path / "build" / "name").mkdir(parents=True, exist_ok=True)
        return ""

    monkeypatch.setattr(venv, "BUILD", tmp_path / "build")
    monkeypatch.setattr(venv, "BENCH", tmp_path / "bench")
    monkeypatch.setattr(venv, "run", runs)
    requirements = tmp_path / "requirements.txt"
    for wanted in ("a==1\n", "a==1\n", "a==2\n"):
        requirements.write_text(wanted)
        venv.make("name", requirements)
    assert commands == ["venv", "pip"] * 2


def test_what_pip_says_last_is_the_reason() -> None:
    with pytest.raises(venv.NotInstalled, match="and why"):
        venv.run("bash", "-c", "echo first >&2; echo 'and why' >&2; exit 3")
