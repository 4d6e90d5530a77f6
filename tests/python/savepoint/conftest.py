from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from snapline.errors import InvalidConfiguration
from snapline.jar import checked_jar

from .session import make_session


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    try:
        checked_jar()
    except InvalidConfiguration as e:
        pytest.skip(str(e))
    session = make_session()
    yield session
    session.stop()
