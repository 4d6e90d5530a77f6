from __future__ import annotations

import subprocess
from pathlib import Path

import pyspark
import pytest


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The jar of LocalFiles.java."""
    folder = tmp_path_factory.mktemp("files")
    classes, jar = folder / "classes", folder / "files.jar"
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    source = Path(__file__).with_name("LocalFiles.java")
    subprocess.run(["javac", "-cp", str(spark), "-d", str(classes), str(source)], check=True)
    subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)
    return str(jar)
