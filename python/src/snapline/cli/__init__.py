"""The ``snapline`` command."""

from snapline.cli.main import main

__all__ = ["main"]
