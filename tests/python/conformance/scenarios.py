"""What is run in both."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from snapline.testing import BroadcastInput

from ..conformance import functions as f
from .scenario import Scenario, at
from .windows import BIG, COUNTS, WINDOWS

KV = "k long, v long"
KVT = "k long, v long, t timestamp"
EVERYTHING = "k long, v long, before long, total long, seen array<long>, per map<string,long>, mean double"


def random_rows(seed: int, count: int, keys: int, most: int = 40) -> list[tuple[int, int]]:
    source = random.Random(seed)
    return [(source.randrange(keys), source.randrange(1, most)) for _ in range(count)]


def timed_rows(seed: int, begin: int, count: int = 25) -> list[tuple[object, ...]]:
    source = random.Random(seed)
    return [(source.randrange(4), source.randrange(1, 9), at(begin + source.randrange(10))) for _ in range(count)]


def priced_rows(seed: int) -> list[tuple[int, str, int]]:
    source = random.Random(seed)
    return [(source.randrange(5), source.choice("abc"), source.randrange(1, 9)) for _ in range(20)]


KWV = "k long, what string, v long"
PRICED = [
    [("a", 3, 1), ("b", 4, 2), ("a", 5, 3)],
    [],
    [("b", 0, 5), ("c", -1, 6), ("c", 7, 7)],
    [("a", 2, 9), ("a", 0, 8)],
]
TYPES = (
    "k string, t timestamp, d date, x decimal(10,2), s string, a array<int>, m map<string,double>, "
    "n struct<b:binary,f:float>"
)
TINY = (("cache.max-keys", 2), ("chunk-rows", 3), ("max-prefetch", 1))

BROADCAST = Scenario(
    "a broadcast stream beside keys, and the state of all keys",
    f.Prices,
    KWV,
    "k long, what string, spent long, bought array<string>, per map<string,long>, names string",
    [priced_rows(seed) for seed in range(4)],
    broadcasts=PRICED,
    broadcast=BroadcastInput.of("what string, price int, at long", f.PRICES, f.NAMES, order_by="at"),
    restart=True,
)

OF_WINDOWS = [
    Scenario(
        f"{name}, {how}",
        None,
        KVT,
        "",
        [sorted(timed_rows(seed, 6 * seed), key=lambda row: (row[2], row[1])) for seed in range(4)],
        event_time="t",
        delay=timedelta(minutes=1),
        windows=windows,
        side_outputs=(BIG,) if "late" in name else (),
        late_output="late" if "late" in name else None,
        restart=how == "over restarts",
        bounds=TINY if how == "in tiny epochs" else (),
    )
    for name, windows in (WINDOWS | COUNTS).items()
    for how in ("over restarts", "in tiny epochs")
]

SCENARIOS = [
    *OF_WINDOWS,
    Scenario(
        "every kind of state, over restarts",
        f.Everything,
        KV,
        EVERYTHING,
        [random_rows(seed, 40, 5) for seed in range(3)],
        restart=True,
    ),
    Scenario(
        "every kind of state, in tiny epochs",
        f.Everything,
        KV,
        EVERYTHING,
        [random_rows(seed, 40, 7) for seed in range(2)],
        bounds=TINY,
    ),
    Scenario(
        "timers",
        f.Alarms,
        KVT,
        "k long, what string, t timestamp, count long",
        [timed_rows(seed, 12 * seed) for seed in range(3)],
        event_time="t",
        delay=timedelta(minutes=3),
        restart=True,
    ),
    Scenario(
        "timers in tiny epochs",
        f.Alarms,
        KVT,
        "k long, what string, t timestamp, count long",
        [timed_rows(seed, 15 * seed) for seed in range(2)],
        event_time="t",
        bounds=TINY,
    ),
    Scenario(
        "time to live in event time",
        f.Forgetful,
        KVT,
        "k long, v long, last long, seen array<long>, per map<long,long>",
        [timed_rows(seed, 9 * seed, 12) for seed in range(4)],
        event_time="t",
    ),
    Scenario(
        "side output and late rows",
        f.Spread,
        KVT,
        "k long, v long",
        [timed_rows(1, 0), timed_rows(2, 5)],
        event_time="t",
        side_outputs=(f.ODD,),
        late_output="late",
    ),
    Scenario(
        "all rows of a key at once",
        f.WholeKey,
        KV,
        "k long, batches long, rows long, sum long",
        [random_rows(seed, 50, 6) for seed in range(2)],
    ),
    Scenario("columns", f.Columns, KV, "k long, sum long", [random_rows(seed, 50, 9) for seed in range(3)]),
    Scenario(
        "namespaces",
        f.Windows,
        KV,
        "k long, window long, count long, sum long",
        [random_rows(seed, 40, 3) for seed in range(2)],
        restart=True,
    ),
    Scenario(
        "types",
        f.Types,
        TYPES,
        TYPES + ", things long",
        [
            [
                ("a", at(3), date(2024, 1, 2), Decimal("1.25"), "ä", [1, None], {"x": 0.5}, (b"\x00\xff", 1.5)),
                ("b", None, None, None, None, None, None, None),
            ],
            [
                ("a", at(9), date(1969, 12, 31), Decimal("-0.01"), "", [], {}, (None, None)),
                ("b", at(1), date(2024, 2, 29), Decimal("99999999.99"), "z", [5], {"y": None}, (b"", 0.0)),
            ],
            [("a", None, None, None, None, None, None, None), ("b", None, None, None, None, None, None, None)],
        ],
        restart=True,
    ),
    Scenario(
        "entries by column",
        f.ByEntry,
        KV,
        "k long, v long, count long, other long",
        [random_rows(seed, 60, 4, 12) for seed in range(3)],
        bounds=(("chunk-rows", 7),),
    ),
    BROADCAST,
    replace(BROADCAST, name="the same in tiny pages", bounds=TINY),
    Scenario(
        "every kind of operator state",
        f.Kept,
        KV,
        "k long, v long, restored boolean, rows string, things string, raw long",
        [random_rows(seed, 12, 3) for seed in range(3)],
        key=(),
        restart=True,
        bounds=(("chunk-rows", 5),),
    ),
    Scenario(
        "a broadcast stream without keys",
        f.UnkeyedPrices,
        KWV,
        "k long, what string, prices array<struct<what:string,price:struct<price:long,at:long>>>",
        [priced_rows(seed) for seed in range(4)],
        key=(),
        broadcasts=PRICED,
        broadcast=BroadcastInput.of("what string, price int, at long", f.PRICES),
        restart=True,
    ),
    Scenario(
        "operator state beside keys",
        f.Numbered,
        KVT,
        "k long, v long, last long, number long",
        [[(1, v, t) for _, v, t in timed_rows(seed, 12 * seed, 9)] for seed in range(3)],
        event_time="t",
        restart=True,
        bounds=(("chunk-rows", 4),),
    ),
]
