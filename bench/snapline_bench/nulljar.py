"""Compiles the benches' own Scala with the compiler that comes among PySpark's own jars."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pyspark

SOURCES = Path(__file__).parent.parent / "null-provider"


def null_provider_jar(build: Path) -> Path:
    return compiled("null-provider", SOURCES, build, ())


def compiled(name: str, folder: Path, build: Path, jars: tuple[str, ...]) -> Path:
    """A jar of the folder's sources, compiled anew if one of them, a jar they need, or Spark's version has changed."""
    sources = sorted(folder.glob("*.scala"))
    digest = hashlib.sha256(pyspark.__version__.encode())
    for source in (*sources, *map(Path, jars)):
        digest.update(source.read_bytes())
    jar = build / f"{name}-{digest.hexdigest()[:12]}.jar"
    if not jar.exists():
        build.mkdir(parents=True, exist_ok=True)
        spark_jars = Path(pyspark.__file__).parent / "jars" / "*"
        classes = os.pathsep.join([*jars, str(spark_jars)])
        scalac = [java(), "-cp", classes, "scala.tools.nsc.Main", "-usejavacp"]
        half_made = jar.with_suffix(".tmp.jar")
        subprocess.run([*scalac, "-d", str(half_made), *map(str, sources)], check=True, stdin=subprocess.DEVNULL)
        half_made.replace(jar)
    return jar


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None:
        raise FileNotFoundError("no java: set JAVA_HOME or put java on the PATH")
    return found
