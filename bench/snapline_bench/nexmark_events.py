"""The events of Nexmark by its published model: people, auctions and bids in 1 : 3 : 46, seeded, in one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snapline_bench.events import FIRST_TIME

SCHEMA = (
    "kind int, time timestamp, id bigint, name string, email string, card string, city string, state string, "
    "item string, description string, initial_bid bigint, reserve bigint, expires timestamp, seller bigint, "
    "category bigint, auction bigint, bidder bigint, price bigint, channel string, url string, extra string"
)
PERSON, AUCTION, BID = range(3)
PEOPLE, AUCTIONS, IN_ALL = 1, 3, 50
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
ACTIVE_PEOPLE, AUCTIONS_IN_FLIGHT, LEAD = 1_000, 100, 10
# One of so many is not for the newest round hundred.
HOT_AUCTION, HOT_SELLER, HOT_BIDDER, ROUND = 2, 4, 4, 100
#: Events of a second of event time.
RATE = 10_000
STATES = np.array(["az", "ca", "id", "or", "wa", "wy"])
CITIES = np.array(["phoenix", "los angeles", "san francisco", "boise", "portland", "bend", "redmond", "seattle"])
CHANNELS = np.array(["Google", "Facebook", "Baidu", "Apple"])


@dataclass(frozen=True)
class NexmarkEvents:
    """A batch has `rows` events, those of the next come behind them.

    Attributes:
        ends: whether a batch more has one event of each kind, a day later: what is to close by then closes.
    """

    rows: int
    batches: int
    ends: bool = False
    seed: int = 11

    def name(self) -> str:
        return f"nexmark-{self.rows}x{self.batches}-{self.seed}{'-end' if self.ends else ''}"

    def tables(self) -> Iterator[pa.Table]:
        for batch in range(self.batches):
            draw = np.random.default_rng((self.seed, batch))
            yield _table(np.arange(batch * self.rows, (batch + 1) * self.rows), draw)
        if self.ends:
            # Numbers from a whole group on, of which these are a person, an auction and a bid.
            first = -(-(self.rows * self.batches + 86_400 * RATE) // IN_ALL) * IN_ALL
            yield _table(first + np.array([0, PEOPLE, PEOPLE + AUCTIONS]), np.random.default_rng(self.seed))


def _table(numbers: np.ndarray, draw: np.random.Generator) -> pa.Table:
    """The events of these numbers."""
    place = numbers % IN_ALL
    kind = np.where(place < PEOPLE, PERSON, np.where(place < PEOPLE + AUCTIONS, AUCTION, BID))
    times = FIRST_TIME * 1_000_000 + numbers * (1_000_000 // RATE)
    person, auction = _newest_person(numbers), _newest_auction(numbers)
    columns = {
        "kind": pa.array(kind.astype(np.int32)),
        "time": _times(times),
        # Flink's reader of Parquet takes no such times.
        "millis": pa.array(times // 1_000),
        "id": _of(kind != BID, np.where(kind == PERSON, person, auction) + FIRST_ID),
        **_people(kind == PERSON, draw),
        **_auctions(kind == AUCTION, times, person, draw),
        **_bids(kind == BID, person, auction, draw),
        "extra": pa.array(_text(len(numbers), 30, draw)),
    }
    return pa.table(columns)


def _newest_person(numbers: np.ndarray) -> np.ndarray:
    """Counted from 0; of an event that makes one, that one."""
    return numbers // IN_ALL * PEOPLE + np.minimum(numbers % IN_ALL, PEOPLE - 1)


def _newest_auction(numbers: np.ndarray) -> np.ndarray:
    place = numbers % IN_ALL
    in_group = np.clip(place - PEOPLE, -1, AUCTIONS - 1)
    return np.maximum(numbers // IN_ALL * AUCTIONS + in_group, 0)


def _people(there: np.ndarray, draw: np.random.Generator) -> dict[str, pa.Array]:
    rows = len(there)
    words = _text(rows, 8, draw)
    return {
        "name": _of(there, words),
        "email": _of(there, np.char.add(words, "@example.com")),
        "card": _of(there, draw.integers(10**15, 10**16, rows).astype(str)),
        "city": _of(there, draw.choice(CITIES, rows)),
        "state": _of(there, draw.choice(STATES, rows)),
    }


def _auctions(
    there: np.ndarray, times: np.ndarray, person: np.ndarray, draw: np.random.Generator
) -> dict[str, pa.Array]:
    rows = len(there)
    initial = _prices(rows, draw)
    # So long do the events take that make as many auctions as are in flight; an auction at most twice that.
    horizon = AUCTIONS_IN_FLIGHT * IN_ALL // AUCTIONS * 1_000_000 // RATE
    expires = (times // 1_000 + 1 + draw.integers(0, 2 * horizon // 1_000, rows)) * 1_000
    hot = draw.integers(0, HOT_SELLER, rows) > 0
    return {
        "item": _of(there, _text(rows, 20, draw)),
        "description": _of(there, _text(rows, 100, draw)),
        "initial_bid": _of(there, initial),
        "reserve": _of(there, initial + _prices(rows, draw)),
        "expires": _times(expires, there),
        "expires_millis": _of(there, expires // 1_000),
        "seller": _of(there, np.where(hot, person // ROUND * ROUND, _recent_person(person, draw)) + FIRST_ID),
        "category": _of(there, FIRST_CATEGORY + draw.integers(0, CATEGORIES, rows)),
    }


def _bids(there: np.ndarray, person: np.ndarray, auction: np.ndarray, draw: np.random.Generator) -> dict[str, pa.Array]:
    rows = len(there)
    hot_auction = draw.integers(0, HOT_AUCTION, rows) > 0
    hot_bidder = draw.integers(0, HOT_BIDDER, rows) > 0
    bidder = np.where(hot_bidder, person // ROUND * ROUND + 1, _recent_person(person, draw))
    oldest = np.maximum(auction - AUCTIONS_IN_FLIGHT, 0)
    recent = oldest + (draw.random(rows) * (auction - oldest + 1 + LEAD)).astype(np.int64)
    channel = np.where(draw.random(rows) < 0.5, draw.choice(CHANNELS, rows), _channels(draw.integers(0, 10_000, rows)))
    return {
        "auction": _of(there, np.where(hot_auction, auction // ROUND * ROUND, recent) + FIRST_ID),
        "bidder": _of(there, bidder + FIRST_ID),
        "price": _of(there, _prices(rows, draw)),
        "channel": _of(there, channel),
        "url": _of(there, np.char.add("https://www.example.com/", _text(rows, 12, draw))),
    }


def _recent_person(person: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    people = person + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + (draw.random(len(person)) * (active + LEAD)).astype(np.int64)


def _channels(numbers: np.ndarray) -> np.ndarray:
    return np.char.add("channel-", numbers.astype(str))


def _prices(rows: int, draw: np.random.Generator) -> np.ndarray:
    """Cents, from a dollar to a million, evenly on a logarithmic scale."""
    return np.round(10.0 ** (draw.random(rows) * 6) * 100).astype(np.int64)


def _text(rows: int, length: int, draw: np.random.Generator) -> np.ndarray:
    letters = draw.integers(ord("a"), ord("z") + 1, (rows, length), dtype=np.uint8)
    return letters.view(f"S{length}").ravel().astype(str)


def _of(there: np.ndarray, values: np.ndarray) -> pa.Array:
    """Null in the rows of other kinds."""
    return pa.array(values, mask=~there)


def _times(micros: np.ndarray, there: np.ndarray | None = None) -> pa.Array:
    mask = None if there is None else ~there
    return pa.array(micros, pa.int64(), mask=mask).cast(pa.timestamp("us", tz="UTC"))
