# mypy: disable-error-code="import-not-found"
import fcntl
import json
import signal
import time

import process
import pytest
from progress import Progress

# Starts a child as PySpark starts the JVM. The child holds a lock for as long as it lives.
PARENT = """
import subprocess, sys, time
child = [sys.executable, __file__.replace("job.py", "child.py"), sys.argv[1]]
subprocess.Popen(child, stdin=subprocess.PIPE)
time.sleep(600)
"""
CHILD = """
import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


def test_a_kill_leaves_no_process_of_the_group(tmp_path, monkeypatch):
    script = tmp_path / "job.py"
    script.write_text(PARENT)
    (tmp_path / "child.py").write_text(CHILD)
    monkeypatch.setattr(process, "JOB", script)
    job = process.JobProcess([str(tmp_path / "lock")], tmp_path / "log")
    while not job.log.exists() or job.log.read_text() != "locked\n":
        assert job.running
        time.sleep(0.05)
    with (tmp_path / "lock").open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert job.kill() == -signal.SIGKILL
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_exit_status_and_the_output_of_a_failed_job_are_kept(tmp_path, monkeypatch):
    script = tmp_path / "job.py"
    script.write_text("raise SystemExit('no such store')")
    monkeypatch.setattr(process, "JOB", script)
    job = process.JobProcess([], tmp_path / "log")
    assert job.wait() == 1
    assert job.log.read_text() == "no such store\n"


def report(batch, rows, commit_ms=5):
    operator = {"numRowsTotal": 7, "memoryUsedBytes": 70, "commitTimeMs": commit_ms}
    return json.dumps(
        {"name": "q", "batchId": batch, "numInputRows": rows, "batchDuration": 500, "stateOperators": [operator]}
    )


def test_a_line_cut_by_the_kill_is_left_out_and_its_batch_counted_once(tmp_path):
    progress = Progress({"q": 100})
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_text(report(0, 10) + "\n" + report(1, 20) + "\n" + report(2, 30)[:20])
    progress.follow(first)
    progress.read()
    progress.read()
    assert progress.queries["q"].rows == 30

    progress.follow(second)
    progress.read()
    second.write_text(report(1, 20) + "\n" + report(2, 30, commit_ms=8) + "\n")
    progress.read()
    query = progress.queries["q"]
    assert (query.rows, query.batches, query.state_rows, query.commit_ms) == (60, 3, 7, 6)
    assert query.rows_per_second == 40
    assert progress.first_batches == {"q": 1}
    assert progress.done == 0.6
