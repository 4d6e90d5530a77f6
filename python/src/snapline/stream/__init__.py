"""Keyed streams."""

from snapline.stream.keyed import KeyedStream, key_by
from snapline.stream.splitting import main_output, side_output

__all__ = ["KeyedStream", "key_by", "main_output", "side_output"]
