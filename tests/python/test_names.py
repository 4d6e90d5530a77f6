"""The names of the package, as one who has imported nothing else sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import snapline


def fresh(program: str, *, folder: Path | None = None) -> str:
    """What a new interpreter prints: in this one the other tests have imported every room."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_dir_has_every_public_name_and_imports_no_spark() -> None:
    program = "import sys, snapline; print(*dir(snapline)); print('pyspark' in sys.modules)"
    names, spark = fresh(program).splitlines()
    assert set(snapline.__all__) | {"inspect", "testing"} <= set(names.split())
    assert spark == "False"


@pytest.mark.parametrize("name", ["inspect", "testing", *snapline.__all__])
def test_every_name_that_dir_has_is_there(name: str) -> None:
    assert getattr(snapline, name) is not None


def test_rooms_need_no_import_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    program = (
        "import snapline\n"
        "try:\n    snapline.inspect.open('empty')\nexcept snapline.SnaplineError as e:\n    print(e.code)\n"
        "print(snapline.testing.KeyedTestHarness.__name__)"
    )
    assert fresh(program, folder=tmp_path).split() == ["SNAPLINE-NOT-A-CHECKPOINT", "KeyedTestHarness"]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'snapline' has no attribute 'ProcesFunction'"):
        snapline.ProcesFunction  # noqa: B018


def test_no_room_takes_the_name_of_a_function() -> None:
    """Python sets an imported room as an attribute of the package, over what ``snapline.connect`` was, for example."""
    rooms = {each.stem for each in Path(snapline.__file__).parent.iterdir()}
    assert "stream" in rooms
    assert not rooms & set(snapline.__all__)
