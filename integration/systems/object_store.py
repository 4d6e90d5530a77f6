"""An S3 server, which is moto's: it counts what it is asked for, and is slow or fails when it is told to.

As a program: `python -m integration.systems.object_store PORT`. Beside S3 it knows `/-/counts` (GET: requests by kind
and owner since the last time) and `/-/faults` (POST: JSON of :class:`Faults`).
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from .process import Process, free_ports

BUCKET = "checkpoints"
LOGS = ("offsets", "commits", "sources", "metadata")
"""What Spark writes itself into a checkpoint folder."""


@dataclass(frozen=True)
class Faults:
    """
    Attributes:
        delay: seconds that each request waits.
        fails: share of the requests that are answered with 503, before anything is done or after it.
    """

    delay: float = 0.0
    fails: float = 0.0


class ObjectStore:
    """The server, and a client that makes its bucket and asks it."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("moto", reason="moto is missing: integration/systems/requirements.txt")
        (self.port,) = free_ports(1)
        command = [sys.executable, "-m", "integration.systems.object_store", str(self.port)]
        self.process = Process(command, folder / "store.log")
        self.process.wait_until(self._answers, 60, "answer of the store")
        self._ask("PUT", f"/{BUCKET}")

    def _answers(self) -> bool:
        try:
            self._ask("GET", "/-/counts")
            return True
        except OSError:
            time.sleep(0.2)
            return False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """For clients that are no Hadoop."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }

    def counts(self) -> dict[str, int]:
        """Of the requests since the last call, as `Spark PUT` or `Snapline HEAD`; `_metadata` counts checkpoints."""
        return dict(json.loads(self._ask("GET", "/-/counts")))

    def set(self, faults: Faults) -> None:
        self._ask("POST", "/-/faults", json.dumps(asdict(faults)).encode())

    def keys(self) -> list[str]:
        """All objects."""
        from xml.etree import ElementTree

        found: list[str] = []
        more = ""
        while True:
            listing = ElementTree.fromstring(self._ask("GET", f"/{BUCKET}?list-type=2{more}"))
            space = listing.tag.partition("}")[0] + "}"
            found += [str(each.text) for each in listing.iter(f"{space}Key")]
            token = listing.find(f"{space}NextContinuationToken")
            if token is None:
                return found
            more = f"&continuation-token={token.text}"

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.address + path, data=body, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())


class Watched:
    """A WSGI application before another one."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._faults = Faults()
        self._counts: Counter[str] = Counter()
        self._chance = random.Random(3)
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/-/counts":
            with self._lock:
                counts, self._counts = self._counts, Counter()
            return _answer(start_response, "200 OK", json.dumps(counts).encode())
        if path == "/-/faults":
            self._faults = Faults(**json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))))
            return _answer(start_response, "200 OK", b"")
        faults = self._faults
        with self._lock:
            self._counts[f"{owner(environ)} {kind(environ)}"] += 1
            self._counts["_metadata"] += path.endswith("/_metadata") and kind(environ) == "PUT"
            fails = self._chance.random() < faults.fails
            done_first = self._chance.random() < 0.5
        time.sleep(faults.delay)
        if not fails:
            return self._application(environ, start_response)
        if done_first:
            list(self._application(environ, lambda *_: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        return _answer(start_response, "503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")


def kind(environ: Mapping[str, Any]) -> str:
    """Of a request, as a bill has it."""
    method, query = environ["REQUEST_METHOD"], parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    if "uploads" in query or "uploadId" in query:
        return "multipart"
    if method == "GET" and ("list-type" in query or "prefix" in query):
        return "LIST"
    if method == "PUT" and "HTTP_X_AMZ_COPY_SOURCE" in environ:
        return "COPY"
    if method == "POST" and "delete" in query:
        return "DELETE"
    return str(method)


def owner(environ: Mapping[str, Any]) -> str:
    """Who reads and writes that part of a checkpoint folder."""
    prefix = parse_qs(environ.get("QUERY_STRING", "")).get("prefix", [""])[0]
    parts = (environ["PATH_INFO"].removeprefix(f"/{BUCKET}") + "/" + prefix).strip("/").split("/")
    return "Spark" if len(parts) < 2 or parts[1] in LOGS else "Snapline"


def _answer(start_response: Callable[..., Any], status: str, body: bytes) -> list[bytes]:
    start_response(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


def main() -> None:
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, run_simple

    class KeepsConnections(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = Watched(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), application, threaded=True, request_handler=KeepsConnections)


if __name__ == "__main__":
    main()
