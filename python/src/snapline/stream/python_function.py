"""The function that Spark's Python workers run, as the JVM takes it."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark import SparkContext
from pyspark.core.rdd import _wrap_function

from snapline.worker.entry import Entry, RawInput, RawOutput
from snapline.worker.job import Job


def python_function(context: SparkContext, job: Job) -> Any:
    """A function of Java for a job."""
    function = _wrap_function(context, Entry(job), RawInput(), RawOutput())
    interpreter = worker_interpreter(context)
    if interpreter == context.pythonExec:
        return function
    return context._jvm.SimplePythonFunction(  # type: ignore[union-attr]
        function.command(),
        function.envVars(),
        function.pythonIncludes(),
        interpreter,
        function.pythonVer(),
        function.broadcastVars(),
        function.accumulator(),
    )


def worker_interpreter(context: SparkContext) -> str:
    """The interpreter of the workers: what Spark was told, or this one where they run on this machine.

    Spark takes ``python3`` from the PATH, which is another one in a virtual environment that is not activated.
    """
    told = "PYSPARK_PYTHON" in os.environ or context.getConf().get("spark.pyspark.python") is not None
    return context.pythonExec if told or not str(context.master).startswith("local") else sys.executable
