"""The error of code that is not ours."""

from __future__ import annotations

from snapline.errors import SnaplineError


class FunctionFailed(SnaplineError):
    """The user's function raised, or gave what cannot be taken. Operator action: fix the function."""

    code = "SNAPLINE-FUNCTION"
    summary = "The function failed."
