"""The fresh process of one run: `python -m snapline_bench.child JOB RESULT`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from snapline_bench.bench import BENCHES
from snapline_bench.job import load_job


def main() -> None:
    job = load_job(Path(sys.argv[1]))
    result = BENCHES[job.bench].measure(job)
    Path(sys.argv[2]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
