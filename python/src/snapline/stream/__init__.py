"""Streams with keys and without, and broadcast streams."""

from snapline.stream.all_windows import AllWindowedStream, window_all
from snapline.stream.asynchronous import async_process
from snapline.stream.broadcasting import BroadcastStream, broadcast
from snapline.stream.connected import ConnectedStreams
from snapline.stream.keyed import KeyedStream, key_by
from snapline.stream.process import BroadcastConnectedStream, connect, process
from snapline.stream.splitting import each_output, main_output, side_output
from snapline.stream.windowed import WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "ConnectedStreams",
    "KeyedStream",
    "WindowedStream",
    "async_process",
    "broadcast",
    "connect",
    "each_output",
    "key_by",
    "main_output",
    "process",
    "side_output",
    "window_all",
]
