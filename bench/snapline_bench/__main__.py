"""`bench/run NAME [--reps N] [--quick]`: runs a bench, stores its result as JSON, prints its tables. `bench/run all`
runs every bench, and makes one report. `bench/run page` writes docs/benchmarks.md from the runs that were recorded."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pyspark

from snapline_bench import everything, machine, published, record
from snapline_bench.bench import BENCHES, Bench
from snapline_bench.goal import Goal
from snapline_bench.report import medians_of, show, state_parts
from snapline_bench.rounds import Rounds

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "bench"


def main() -> None:
    args = arguments()
    if args.name == "all":
        only = args.only.split(",") if args.only else [name for name, bench in BENCHES.items() if bench.fits]
        raise SystemExit(everything.run(ROOT, only, args.quick, args.minutes, args.fresh))
    if args.name == "page":
        for path in published.write():
            print(path.relative_to(ROOT))
        return
    bench = BENCHES[args.name]
    if not bench.fits and args.show is None:
        raise SystemExit(f"{args.name} needs Spark {bench.line}: see SNAPLINE_SPARK in scripts/env.sh")
    if args.show is not None:
        result = json.loads(args.show.read_text())
        if "runs" not in result:
            raise SystemExit(f"{args.show} is a recorded result, without its runs: docs/benchmarks.md shows it")
        show(bench, result["runs"])
        return
    os.environ["PYTHONPATH"] = str(ROOT / "bench")  # children start in another folder
    run(bench, args)


def run(bench: Bench, args: argparse.Namespace) -> None:
    settings = dict(pair.split("=", 1) for pair in args.conf)
    given = {
        name: getattr(args, name)
        for name in (
            *("batches", "rows", "keys", "warm_up", "partitions", "maintenance", "memory", "minutes"),
            *("queries", "operators"),
        )
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    if foreign := overrides.keys() - bench.sizes.keys():
        raise SystemExit(f"{bench.name} knows no {', '.join(foreign)}")
    for each in ("queries", "operators"):
        if unknown := set(overrides.get(each, ())) - set(bench.sizes.get(each, ())):
            known = ", ".join(bench.sizes[each])
            raise SystemExit(f"{bench.name} has no {', '.join(sorted(unknown))} among its {each}: {known}")
    names = args.providers.split(",") if args.providers else list(bench.names)
    providers = bench.choose(names, args.jar, settings)
    on = machine.describe()
    rounds = Rounds(BUILD, args.quick, lambda line: print(line, flush=True))
    runs = rounds.run(bench, providers, args.reps or bench.reps, overrides)
    if not runs:
        raise SystemExit(1)
    medians = medians_of(runs)
    path = args.result or BUILD / "results" / f"{bench.name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.parent.mkdir(exist_ok=True)
    result = {
        "bench": bench.name,
        "quick": args.quick,
        "sizes": rounds.sizes(bench, overrides),
        "settings": settings,
        "failed": sorted(rounds.failed),
        "machine": on,
        "medians": medians,
        "state_part": state_parts(medians, bench.state_part),
        "goals": [stand(goal, goal.value(medians)) for goal in bench.goals],
        "sheets": [asdict(sheet) for sheet in bench.sheets(runs)],
        "runs": runs,
    }
    path.write_text(json.dumps(result, indent=1))
    show(bench, runs)
    if args.quick:
        print("quick sizes: the goals are about the full ones")
    if args.record:
        kept = record.record(bench, result, command_of(sys.argv[1:]), everything.commit(ROOT))
        print(f"recorded: {kept.relative_to(ROOT)}; bench/run page writes docs/benchmarks.md from it")
    print(f"result: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    if rounds.failed:
        raise SystemExit(f"failed: {', '.join(sorted(rounds.failed))}")


def command_of(words: list[str]) -> str:
    first = (ROOT / "SPARK_LINES").read_text().split()[0]
    line = "" if pyspark.__version__ == first else f"SNAPLINE_SPARK={pyspark.__version__} "
    return f"{line}bench/run " + " ".join(word for word in words if word != "--record")


def stand(goal: Goal, value: float | None) -> dict[str, str | float | None]:
    return {
        "figure": goal.figure,
        "of": goal.ours,
        "part": goal.part.value,
        "against": goal.against,
        "limit": goal.limit,
        "is": value,
        "verdict": goal.verdict(value),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("name", choices=["all", "page", *sorted(BENCHES)])
    parser.add_argument("--reps", type=int, help="runs of each provider")
    parser.add_argument("--quick", action="store_true", help="smaller sizes: a look, not a figure to quote")
    parser.add_argument("--providers", help="which (or which engines), separated by commas; all without it")
    parser.add_argument("--jar", type=Path, help="Snapline's jar, instead of the installed package's")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="Spark setting for Snapline's runs"
    )
    parser.add_argument("--batches", type=int, help="measured batches (aggregation, incremental, keyed-…, slow-store)")
    parser.add_argument("--warm-up", type=int, help="batches before these (the same benches)")
    parser.add_argument("--rows", type=int, help="rows a batch (keyed-…, slow-store)")
    parser.add_argument(
        "--keys", type=int, help="from which those of the rows are drawn (aggregation, keyed-…, slow-store, …)"
    )
    parser.add_argument("--partitions", type=int, help="of state (slow-store)")
    parser.add_argument("--maintenance", help="Spark's maintenance interval (aggregation)")
    parser.add_argument("--memory", help="the driver's heap (aggregation, incremental)")
    parser.add_argument("--minutes", type=float, help="how long it runs (soak; all: how long soak does)")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="nexmark: these, separated by commas")
    parser.add_argument("--operators", type=lambda text: text.split(","), help="eviction: these, likewise")
    parser.add_argument("--only", help="all: these benches, separated by commas")
    parser.add_argument("--fresh", action="store_true", help="all: anew, instead of going on with a run that stopped")
    parser.add_argument("--result", type=Path, metavar="FILE", help="where the result goes")
    parser.add_argument("--record", action="store_true", help="publish this run: see bench/recorded")
    parser.add_argument("--show", type=Path, metavar="RESULT", help="print the tables of a stored result again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
