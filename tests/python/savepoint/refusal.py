from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.errors import SnaplineError
from snapline.savepoint import restore_savepoint


def refused(spark: SparkSession, savepoint: Path, kind: type[SnaplineError], text: str, **options: int) -> None:
    target = savepoint.parent / "target"
    with pytest.raises(kind, match=text):
        restore_savepoint(spark, str(savepoint), str(target), **options)  # type: ignore[arg-type]
    assert not target.exists()
