"""What the package takes from the rest of the repository: the version, the readme, the Spark line, the jar."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = Path(__file__).parent
README = (HERE.parent / "README.md").read_text()
VERSION = (HERE.parent / "VERSION").read_text().strip()
SPARK_MAJOR, SPARK_MINOR = map(int, (HERE.parent / "SPARK_VERSION").read_text().split(".")[:2])


class FromRepository(MetadataHookInterface):
    """The jar fits one line of Spark only, so the package asks for exactly that line."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        pyspark = f"pyspark>={SPARK_MAJOR}.{SPARK_MINOR},<{SPARK_MAJOR}.{SPARK_MINOR + 1}"
        metadata["version"] = VERSION
        metadata["readme"] = {"content-type": "text/markdown", "text": README}
        metadata["dependencies"] = [pyspark, *self.config["dependencies"]]


class WithJar(BuildHookInterface[Any]):
    """Writes _version.py, and lets no wheel out that lacks the jar."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = HERE / "src" / "snapline"
        (package / "_version.py").write_text(
            f'__version__ = "{VERSION}"\n__spark_line__ = "{SPARK_MAJOR}.{SPARK_MINOR}"\n'
        )
        jars = [jar.name for jar in (package / "jars").glob("*.jar")]
        if version == "standard" and len(jars) != 1:
            raise FileNotFoundError(f"expected one jar in {package / 'jars'}, found {jars}: run scripts/wheel")
