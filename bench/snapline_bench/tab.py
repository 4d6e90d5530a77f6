"""The Checkpoints tab of a large query after a day: pages, memory, and what the coordinator waits."""

from __future__ import annotations

import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from snapline_bench import cpu
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.nulljar import compiled
from snapline_bench.provider import Provider, find_snapline_jar
from snapline_bench.session import open_session

SOURCES = Path(__file__).parent.parent / "checkpoints-tab"
BY_DEFAULT = "by default"
EVERYTHING = "all kept"
STORE_CLASS = "io.snapline.spark.SnaplineStateStoreProvider"
NAMES = (BY_DEFAULT, EVERYTHING)


@dataclass(frozen=True)
class Sizes:
    checkpoints: int = 10_000
    partitions: int = 2_000
    requests: int = 15
    coordinated: int = 50
    memory: str = "2g"


QUICK = Sizes(checkpoints=1_000, partitions=500, requests=5, coordinated=20)
REPS = 1
PAGES = {
    "queries_ms": "first page ms",
    "overview_ms": "overview ms",
    "history_ms": "history ms",
    "sorted_ms": "history by duration ms",
    "summary_ms": "summary ms",
    "partitions_ms": "partitions ms",
    "rest_ms": "REST, 100 of the history, ms",
}
FIGURES = {**PAGES, "heap_mb": "heap MB", "waits": "coordinator, of that without a tab", "others": "other load, cores"}
GOALS = [
    *(Goal(figure, Part.ABSOLUTE, "", 500.0, EVERYTHING) for figure in PAGES),
    Goal("heap_mb", Part.ABSOLUTE, "", 32.0, BY_DEFAULT),
    Goal("heap_mb", Part.ABSOLUTE, "", 64.0, EVERYTHING),
    Goal("waits", Part.ABSOLUTE, "", 1.5, BY_DEFAULT),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """Bounds of the tab, as they are and raised to all there is."""
    found = find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar found (build it or give --jar PATH)")
    ui = {"spark.ui.enabled": "true", "spark.ui.port": "0", **settings}
    everything = {**ui, "spark.snapline.ui.retained-checkpoints": "10000"}
    known = {
        BY_DEFAULT: Provider(BY_DEFAULT, "1,000 checkpoints kept, partitions of 100", STORE_CLASS, ui, (str(found),)),
        EVERYTHING: Provider(
            EVERYTHING, "10,000 checkpoints kept, partitions of 100", STORE_CLASS, everything, (str(found),)
        ),
    }
    return [known[name] for name in names if name in known]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    provider = job.provider
    load_jar = compiled("checkpoints-tab", SOURCES, job.scratch, provider.jars)
    spark = open_session(provider, load_jar, job.scratch, "60s", sizes.memory)
    jvm, context = spark._jvm, spark.sparkContext
    load = jvm.io.snapline.spark.ui.CheckpointsLoad
    load.coordinator(sizes.coordinated, sizes.partitions, True)  # compiled by now
    # In turns, so that other load falls on both.
    turns = [[load.coordinator(sizes.coordinated, sizes.partitions, told) for told in (True, False)] for _ in range(3)]
    waits = median(told for told, _ in turns) / median(alone for _, alone in turns)
    before = load.heap()
    start = load.play(context._jsc.sc(), sizes.checkpoints, sizes.partitions)
    heap = load.heap() - before
    root = f"http://localhost:{context.uiWebUrl.rpartition(':')[2]}"
    query = f"{root}/checkpoints/query/?id={start}"
    addresses = {
        "queries_ms": f"{root}/checkpoints/",
        "overview_ms": query,
        "history_ms": f"{query}&view=history",
        "sorted_ms": f"{query}&view=history&history.sort=duration&history.page=5",
        "summary_ms": f"{query}&view=summary",
        "partitions_ms": f"{root}/checkpoints/checkpoint/?id={start}&checkpoint={sizes.checkpoints - 1}",
        "rest_ms": f"{root}/api/v1/applications/{context.applicationId}/checkpoints/{start}",
    }
    before_pages = cpu.read()
    taken = {name: [_fetch(address) for _ in range(sizes.requests)] for name, address in addresses.items()}
    spark.stop()
    return {
        "figures": {
            **{name: median(ms for ms, _ in all_of) for name, all_of in taken.items()},
            "heap_mb": heap / 2**20,
            "waits": waits,
            "others": cpu.read().since(before_pages).others,
        },
        "batches": [
            {"page": name, "ms": ms, "bytes": length} for name, all_of in taken.items() for ms, length in all_of
        ],
    }


def _fetch(address: str) -> tuple[float, int]:
    begun = time.monotonic()
    with urllib.request.urlopen(address, timeout=120) as answer:
        length = len(answer.read())
    return (time.monotonic() - begun) * 1e3, length
