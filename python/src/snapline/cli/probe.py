"""Starts a local session through ``snapline.configure`` and says on standard output, as JSON, whether it works."""

from __future__ import annotations

import json
import time
from typing import Any

from snapline.errors import SnaplineError
from snapline.jar import EXTENSION_CLASS, PROVIDER_CLASS
from snapline.session import EXTENSIONS, PROVIDER, configure


def main() -> None:
    """Prints ``{"state", "found", "action"}``."""
    try:
        answer = _start()
    except SnaplineError as e:
        answer = {"state": "fail", "found": f"[{e.code}] {e.found}", "action": e.action}
    except Exception as e:  # whatever Spark, py4j or Java throw: it is the finding
        text = str(e).strip().partition("\n")[0]
        answer = {
            "state": "fail",
            "found": f"{type(e).__name__}: {text}",
            "action": "see the log of Spark: python -m snapline.cli.probe",
        }
    print(json.dumps(answer), flush=True)


def _start() -> dict[str, str]:
    from pyspark.sql import SparkSession

    began = time.monotonic()
    builder = SparkSession.builder.master("local[1]").appName("snapline doctor")
    session = configure(builder.config("spark.ui.enabled", "false")).getOrCreate()
    try:
        jvm: Any = session._jvm
        states = getattr(jvm, "org.apache.spark.sql.execution.streaming.state.StateStoreProvider")
        made = str(states.create(session.conf.get(PROVIDER)).getClass().getName())
        # Spark only logs it when an extension fails.
        getattr(jvm, "org.apache.spark.util.Utils").classForName(EXTENSION_CLASS, True, False)
        extensions = (session.conf.get(EXTENSIONS) or "").split(",")
    finally:
        session.stop()
    if made != PROVIDER_CLASS or EXTENSION_CLASS not in extensions:
        return {
            "state": "fail",
            "found": f"provider {made}, extensions {extensions}",
            "action": "look for what overrides them in spark-defaults.conf.",
        }
    seconds = time.monotonic() - began
    return {
        "state": "ok",
        "found": f"a local session loads provider and extension ({seconds:.0f} s)",
        "action": "",
    }


if __name__ == "__main__":
    main()
