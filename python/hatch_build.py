"""What the package takes from the rest of the repository: the version, the readme, the Spark line, the jar."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = Path(__file__).parent
README = (HERE.parent / "README.md").read_text()
VERSION = (HERE.parent / "VERSION").read_text().strip()
SPARK_RELEASES = (HERE.parent / "SPARK_LINES").read_text().split()
SPARK_RELEASE = os.environ.get("SNAPLINE_SPARK") or SPARK_RELEASES[0]
if SPARK_RELEASE not in SPARK_RELEASES:
    raise ValueError(f"SNAPLINE_SPARK={SPARK_RELEASE} is not in SPARK_LINES: {SPARK_RELEASES}")
SPARK_MAJOR, SPARK_MINOR = map(int, SPARK_RELEASE.split(".")[:2])
SPARK_LINE = f"{SPARK_MAJOR}.{SPARK_MINOR}"


class FromRepository(MetadataHookInterface):
    """The jar fits one line of Spark only, so the package asks for exactly that line, and names it in its version."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        pyspark = f"pyspark>={SPARK_LINE},<{SPARK_MAJOR}.{SPARK_MINOR + 1}"
        metadata["version"] = f"{VERSION}+spark{SPARK_LINE}"
        metadata["readme"] = {"content-type": "text/markdown", "text": README}
        metadata["dependencies"] = [pyspark, *self.config["dependencies"]]


class WithJar(BuildHookInterface[Any]):
    """Writes _version.py, and lets no wheel out that lacks the jar."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = HERE / "src" / "snapline"
        lines = tuple(release.rpartition(".")[0] for release in SPARK_RELEASES)
        (package / "_version.py").write_text(
            f'__version__ = "{VERSION}"\n__spark_line__ = "{SPARK_LINE}"\n__spark_lines__ = {lines}\n'
        )
        jars = [jar.name for jar in (package / "jars").glob("*.jar")]
        if version == "standard" and (len(jars) != 1 or not jars[0].startswith(f"snapline-spark-{SPARK_LINE}_")):
            raise FileNotFoundError(
                f"expected one jar, for Spark {SPARK_LINE}, in {package / 'jars'}, found {jars}: run scripts/wheel"
            )
