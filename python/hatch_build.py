"""What the package takes from the rest of the repository: the version, the readme, the lines of Spark, the jars."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = Path(__file__).parent
# A page of an index has no folder beside it: what points into the repository becomes text.
README = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*", "", (HERE.parent / "README.md").read_text())
README = re.sub(r"\[([^]]*)\]\((?!https?:|#)[^)]*\)", r"\1", README)
VERSION = (HERE.parent / "VERSION").read_text().strip()


def _number(line: str) -> tuple[int, ...]:
    return tuple(map(int, line.split(".")))


# The file begins with the release that is built by default.
SPARK_RELEASES = (HERE.parent / "SPARK_LINES").read_text().split()
SPARK_LINES = tuple(sorted((release.rpartition(".")[0] for release in SPARK_RELEASES), key=_number))
MAJOR, MINOR = _number(SPARK_LINES[-1])


class FromRepository(MetadataHookInterface):
    """There is a jar for each line of Spark in SPARK_LINES, so the package asks for one of these."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        pyspark = f"pyspark>={SPARK_LINES[0]},<{MAJOR}.{MINOR + 1}"
        metadata["version"] = VERSION
        metadata["readme"] = {"content-type": "text/markdown", "text": README}
        metadata["dependencies"] = [pyspark, *self.config["dependencies"]]


class WithJars(BuildHookInterface[Any]):
    """Writes _version.py, and lets no wheel out that lacks a jar."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = HERE / "src" / "snapline"
        (package / "_version.py").write_text(f'__version__ = "{VERSION}"\n__spark_lines__ = {SPARK_LINES}\n')
        jars = sorted(jar.name for jar in (package / "jars").glob("*.jar"))
        wanted = [f"snapline-spark-{line}_" for line in SPARK_LINES]
        fit = len(jars) == len(wanted) and all(jar.startswith(name) for jar, name in zip(jars, wanted, strict=True))
        if version == "standard" and not fit:
            raise FileNotFoundError(
                f"expected a jar for each of Spark {SPARK_LINES} in {package / 'jars'}, found {jars}: run scripts/wheel"
            )
