from importlib.metadata import requires, version
from pathlib import Path
from zipfile import ZipFile

import pyspark

import snapline
from snapline._version import __spark_line__, __spark_lines__


def test_version_is_that_of_the_version_file_with_the_spark_line(root: Path) -> None:
    written = (root / "VERSION").read_text().strip()
    assert snapline.__version__ == written
    assert version("snapline") == f"{written}+spark{__spark_line__}"


def test_asks_for_the_spark_line_it_is_built_for(root: Path) -> None:
    releases = (root / "SPARK_LINES").read_text().split()
    (release,) = [each for each in releases if each.rpartition(".")[0] == __spark_line__]
    assert pyspark.__version__ == release
    major, minor = __spark_line__.split(".")
    asked = next(line for line in requires("snapline") or [] if line.startswith("pyspark"))
    assert asked == f"pyspark<{major}.{int(minor) + 1},>={major}.{minor}"


def test_carries_one_jar_of_its_own_version_and_nothing_of_others() -> None:
    line = __spark_line__
    jars = list((Path(snapline.__file__).parent / "jars").glob("*.jar"))
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
