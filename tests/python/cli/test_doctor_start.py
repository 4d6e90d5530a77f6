from __future__ import annotations

import json
import os
import subprocess
import sys

from ..spark_jar import need_jar


def test_a_session_loads_provider_and_extension() -> None:
    need_jar()
    environ = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_SUBMIT_ARGS", "SPARK_HOME")}
    command = [sys.executable, "-m", "snapline", "doctor", "--start", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert json.loads(done.stdout)[-1] | {"found": ""} == {"name": "start", "state": "ok", "found": "", "action": ""}
    assert done.returncode == 0
