from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from ..systems.standalone import Standalone
from .lives import kills
from .moved import HOSTS
from .unharmed import Unharmed


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


@pytest.fixture(scope="session")
def unharmed(files: str, tmp_path_factory: pytest.TempPathFactory) -> Unharmed:
    """With more files than a query takes in while it is killed so often: what is left is for the life that ends."""
    return Unharmed.live(tmp_path_factory.mktemp("unharmed"), min(24, 8 + kills(100)), files)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """Workers with hosts of their own: Spark runs no second copy of a task on the host of the first."""
    with Standalone(tmp_path_factory.mktemp("standalone"), workers=len(HOSTS), hosts=HOSTS) as cluster:
        yield cluster
