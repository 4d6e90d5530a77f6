"""The jar, for tests that start Spark."""

from __future__ import annotations

import pytest

from snapline.errors import InvalidConfiguration
from snapline.jar import checked_jar


def need_jar() -> None:
    """Skips the test where none was built."""
    try:
        checked_jar()
    except InvalidConfiguration as e:
        pytest.skip(str(e))
