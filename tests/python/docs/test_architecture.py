"""The architecture page names every room, in the order that the rules of both languages have."""

from __future__ import annotations

import re

from .pages import TOP, sections

if __import__("sys").version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
