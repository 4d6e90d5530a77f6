import os
import re
import subprocess
import sys
from importlib.metadata import metadata, requires, version
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

import snapline
from snapline._version import __spark_lines__
from snapline.spark_line import spark_line


def test_version_is_that_of_the_version_file(root: Path) -> None:
    written = (root / "VERSION").read_text().strip()
    assert snapline.__version__ == version("snapline") == written


def test_an_index_shows_the_readme_without_links_into_the_repository() -> None:
    description = str(metadata("snapline").json["description"])
    assert "# Snapline" in description
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", description) == []


def test_asks_for_the_lines_of_spark_that_it_has_jars_for(root: Path) -> None:
    releases = (root / "SPARK_LINES").read_text().split()
    assert pyspark.__version__ in releases
    lines = sorted(release.rpartition(".")[0] for release in releases)
    assert list(__spark_lines__) == lines
    major, minor = lines[-1].split(".")
    asked = next(line for line in requires("snapline") or [] if line.startswith("pyspark"))
    assert asked == f"pyspark<{major}.{int(minor) + 1},>={lines[0]}"


@pytest.mark.parametrize("found", ["before it", "after it"])
def test_the_line_is_that_of_the_pyspark_that_would_be_imported(tmp_path: Path, found: str) -> None:
    """On a cluster that is the one of SPARK_HOME. It may come onto the path after the package was imported, and is not
    imported for that."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("raise ImportError('nobody should')")
    (tmp_path / "pyspark" / "version.py").write_text('__version__: str = "9.8.7.dev0"\n')
    code = (
        "import sys, snapline; sys.path.insert(0, sys.argv[1]); "
        "from snapline.spark_line import pyspark_version, spark_line; print(pyspark_version(), spark_line())"
    )
    environment = {**os.environ, **({"PYTHONPATH": str(tmp_path)} if found == "before it" else {})}
    command = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["9.8.7.dev0", "9.8"]


def test_carries_one_jar_of_its_own_version_and_nothing_of_others() -> None:
    line = spark_line()
    jars = list((Path(snapline.__file__).parent / "jars").glob(f"snapline-spark-{line}_*.jar"))
    assert [jar.name for jar in jars] == [f"snapline-spark-{line}_2.13-{snapline.__version__}.jar"]

    with ZipFile(jars[0]) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode().splitlines()
        assert f"Implementation-Version: {snapline.__version__}" in manifest
        assert f"Snapline-Spark-Line: {line}" in manifest
        properties = jar.read("snapline/version.properties").decode()
        lines = " ".join(__spark_lines__)
        assert properties == f"version={snapline.__version__}\nspark.line={line}\nspark.lines={lines}\n"
        strangers = [
            name
            for name in jar.namelist()
            if name.endswith(".class") and not name.startswith("io/snapline/") and "/snapline/" not in name
        ]
        assert strangers == []
