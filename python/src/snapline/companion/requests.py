"""Takes the client's calls from the server, and answers them."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from snapline._version import __version__
from snapline.companion.session import classic_session
from snapline.java_api import coded_errors
from snapline.query.beside import queries
from snapline.query.owner import set_owner
from snapline.remote.answers import write_answer
from snapline.remote.pickles import unpickle_call

#: Set by the server: the name of this process's ``Companion``.
TOKEN = "SNAPLINE_COMPANION"
_CALLS_AT_ONCE = 64
_FIND_S = 0.02
# A session without requests expires after an hour, unless its server is told otherwise. In s.
_TOUCH_S = 20.0

_log = logging.getLogger(__name__)


class Requests:
    """Answers calls, many at a time: some wait for a query to end."""

    def __init__(self, companion: Any, session: SparkSession) -> None:
        self._companion = companion
        self._session = session
        self._calls = ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix="snapline-call")

    def run(self) -> None:
        """Returns when the client's session is closed, and its queries are stopped."""
        threading.Thread(target=self._keep_session, name="snapline-touch", daemon=True).start()
        while (request := self._companion.next()) is not None:
            self._calls.submit(self._answer, request)
        for query in list(queries.values()):
            try:
                query.stop()
            except Exception as e:
                _log.warning("A query of the session that was closed did not stop: %s", e)

    def _answer(self, request: Any) -> None:
        try:
            text = write_answer(lambda: self._call(request), lambda df: str(self._companion.keep(df._jdf)))
            request.answer(text)
        except BaseException:
            _log.exception("A client's call has no answer.")
            raise

    def _call(self, request: Any) -> Any:
        frames = [DataFrame(java, self._session) for java in request.frames()]
        function, args, kwargs = unpickle_call(bytes(request.pickled()), request.python(), self._session, frames)
        with coded_errors():
            return function(*args, **kwargs)

    def _keep_session(self) -> None:
        while True:
            time.sleep(_TOUCH_S)
            if any(query.isActive for query in list(queries.values())):
                self._companion.touch()


def serve() -> None:
    """The life of the process. It ends with the server, and with the client's session."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    companions = gateway.jvm.org.apache.spark.sql.connect.snapline.Companions
    try:
        while (companion := companions.find(os.environ[TOKEN])) is None:
            time.sleep(_FIND_S)
        companion.greet(__version__)
        set_owner(companion)
        Requests(companion, classic_session(gateway, companion)).run()
    except (Py4JError, OSError) as e:
        _log.error("Snapline's Python beside the server ends: %s", e)
        code = 1
    else:
        code = 0
    # Threads may still wait for queries, and the accumulators' server for the JVM.
    os._exit(code)
