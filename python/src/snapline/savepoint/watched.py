"""Tells how far Spark's jobs are while they run."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE = 2.0


@contextmanager
def watched(session: SparkSession, what: str, progress: Callable[[str], None], pause: float = _PAUSE) -> Iterator[None]:
    """Says what begins, and while Spark works on it every few seconds how many of its tasks are done.

    Args:
        progress: called from a thread of its own, and no more when this has ended.
    """
    progress(what)
    context: Any = session.sparkContext
    tag, ended = f"snapline-{uuid.uuid4()}", threading.Event()

    def watch() -> None:
        said = (0, 0)
        while not ended.wait(pause):
            done, tasks = _tasks(context._jsc.sc().statusTracker(), tag)
            if tasks and (done, tasks) != said:
                said = (done, tasks)
                progress(f"{what}: {done} of {tasks} tasks")

    watcher = threading.Thread(target=watch, name="snapline-progress", daemon=True)
    context.addJobTag(tag)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        context.removeJobTag(tag)


def _tasks(tracker: Any, tag: str) -> tuple[int, int]:
    """Of all jobs so far: how many are done, and how many there are."""
    done = tasks = 0
    for job in tracker.getJobIdsForTag(tag):
        info = tracker.getJobInfo(job)
        for stage in info.get().stageIds() if info.isDefined() else ():
            found = tracker.getStageInfo(stage)
            if found.isDefined():
                done += int(found.get().numCompletedTasks())
                tasks += int(found.get().numTasks())
    return done, tasks
