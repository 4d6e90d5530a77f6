"""The queries of Nexmark that Spark can say over streams, each in Spark's SQL and in Flink's.

Both read `person`, `auction` and `bid`, views of the events with a watermark four seconds behind. Two are narrower than
the published ones, in both engines alike: q4 gives the highest bid of an auction in windows of ten seconds, because
Spark has no aggregate over a join that updates its rows; q18 needs no number for a row. q9 joins as q4 does. q9, q15,
q16 and q19 are keyed functions (`nexmark_keyed.py`), as Spark has no SQL for them over streams. Left out: q12 (windows
of the clock, whose results no two runs share).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """
    Attributes:
        spark: in SQL. Of a keyed function it is for batches only; tests compare the function's rows with its.
        keys: columns that name a result, of which later ones replace earlier ones; none: rows are only added.
        mode: Spark's output mode.
        keyed: a keyed function runs in place of the SQL (`nexmark_keyed.KEYED`).
        flink_view: what `joined` is in Flink's query.
    """

    title: str
    spark: str
    flink: str
    keys: tuple[str, ...] = ()
    mode: str = "append"
    keyed: bool = False
    flink_view: str = ""


def _tumble(table: str, seconds: int = 10) -> str:
    return f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(`time`), INTERVAL '{seconds}' SECOND))"


#: Bids with their auctions. Flink's bounds of a join are constants.
JOINED = (
    "SELECT a.id, a.category, a.item, a.seller, a.expires, b.bidder, b.price, b.time"
    " FROM auction a JOIN bid b ON a.id = b.auction AND b.time BETWEEN a.time AND a.expires"
    " AND a.time >= b.time - INTERVAL 20 SECONDS"
)
FLINK_JOINED = (
    "SELECT a.id, a.category, a.item, a.seller, a.expires, b.bidder, b.price, b.`time`"
    " FROM auction a JOIN bid b ON a.id = b.auction AND b.`time` <= a.expires"
    " AND a.`time` BETWEEN b.`time` - INTERVAL '20' SECOND AND b.`time`"
)
RANKS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")


def _counts() -> str:
    """All bids, then those of each rank; then the same for the different bidders and auctions."""
    counted = ["*", "DISTINCT bidder", "DISTINCT auction"]
    filters = ["", *(f" FILTER (WHERE {rank})" for rank in RANKS)]
    return ", ".join(
        f"COUNT({what}){each} AS n{number}"
        for number, (what, each) in enumerate((what, each) for what in counted for each in filters)
    )


QUERIES = {
    "q3": Query(
        "who sells in three states",
        "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id"
        " WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')",
        "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id"
        " WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')",
    ),
    "q4": Query(
        "the highest bid of an auction, ten seconds at a time",
        "SELECT id, category, window(time, '10 seconds').start AS s, max(price) AS price"
        f" FROM ({JOINED}) GROUP BY id, category, window(time, '10 seconds')",
        f"SELECT id, category, window_start, MAX(price) FROM {_tumble('joined')}"
        " GROUP BY id, category, window_start, window_end",
        flink_view=FLINK_JOINED,
    ),
    "q5": Query(
        "the hottest auction, sliding windows",
        "SELECT window.start AS s, max_by(auction, struct(n, -auction)) AS auction, max(n) AS n FROM"
        " (SELECT window(time, '10 seconds', '2 seconds') AS window, auction, count(*) AS n FROM bid"
        " GROUP BY window(time, '10 seconds', '2 seconds'), auction) GROUP BY window",
        "SELECT window_start, auction, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end"
        " ORDER BY n DESC, auction) AS place FROM (SELECT auction, COUNT(*) AS n, window_start, window_end FROM"
        " TABLE(HOP(TABLE bid, DESCRIPTOR(`time`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))"
        " GROUP BY auction, window_start, window_end)) WHERE place <= 1",
    ),
    "q7": Query(
        "the highest bids of ten seconds",
        "SELECT b.auction, b.bidder, b.price, b.time FROM bid b JOIN (SELECT window_time(window) AS at, price FROM"
        " (SELECT window(time, '10 seconds') AS window, max(price) AS price FROM bid"
        " GROUP BY window(time, '10 seconds'))) m"
        " ON b.price = m.price AND b.time > m.at - INTERVAL 10 SECONDS AND b.time <= m.at",
        "SELECT b.auction, b.bidder, b.price, b.`time` FROM bid b JOIN (SELECT MAX(price) AS price,"
        f" window_time AS `at` FROM {_tumble('bid')} GROUP BY window_start, window_end, window_time) m"
        " ON b.price = m.price AND b.`time` BETWEEN m.`at` - INTERVAL '9.999' SECOND AND m.`at`",
    ),
    "q8": Query(
        "new people who sell within ten seconds",
        "SELECT p.id, p.name, p.w.start AS s FROM (SELECT id, name, window(time, '10 seconds') AS w FROM person) p JOIN"
        " (SELECT DISTINCT seller, window(time, '10 seconds') AS w FROM auction) a ON p.id = a.seller AND p.w = a.w",
        "SELECT p.id, p.name, p.window_start FROM (SELECT id, name, window_start, window_end FROM"
        f" {_tumble('person')} GROUP BY id, name, window_start, window_end) p JOIN"
        f" (SELECT seller, window_start, window_end FROM {_tumble('auction')}"
        " GROUP BY seller, window_start, window_end) a"
        " ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end",
    ),
    "q9": Query(
        "the highest bid of an auction",
        "SELECT id, item, seller, bidder, price, time FROM (SELECT *, row_number() OVER"
        f" (PARTITION BY id ORDER BY price DESC, time) AS place FROM ({JOINED})) WHERE place = 1",
        "SELECT id, item, seller, bidder, price, `time` FROM (SELECT *, ROW_NUMBER() OVER"
        " (PARTITION BY id ORDER BY price DESC, `time`) AS place FROM joined) WHERE place <= 1",
        ("id",),
        keyed=True,
        flink_view=FLINK_JOINED,
    ),
    "q11": Query(
        "bids of a person in a session",
        "SELECT bidder, session_window.start AS s, count(*) AS n FROM bid"
        " GROUP BY bidder, session_window(time, '10 seconds')",
        "SELECT bidder, window_start, COUNT(*) FROM TABLE(SESSION(TABLE bid PARTITION BY bidder,"
        " DESCRIPTOR(`time`), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end",
    ),
    "q15": Query(
        "bidders and auctions of a day",
        f"SELECT date_format(time, 'yyyy-MM-dd') AS day, {_counts()} FROM bid GROUP BY date_format(time, 'yyyy-MM-dd')",
        f"SELECT DATE_FORMAT(`time`, 'yyyy-MM-dd') AS `day`, {_counts()} FROM bid"
        " GROUP BY DATE_FORMAT(`time`, 'yyyy-MM-dd')",
        ("day",),
        "update",
        keyed=True,
    ),
    "q16": Query(
        "bidders and auctions of a channel, by day",
        f"SELECT channel, date_format(time, 'yyyy-MM-dd') AS day, {_counts()} FROM bid"
        " GROUP BY channel, date_format(time, 'yyyy-MM-dd')",
        f"SELECT channel, DATE_FORMAT(`time`, 'yyyy-MM-dd') AS `day`, {_counts()} FROM bid"
        " GROUP BY channel, DATE_FORMAT(`time`, 'yyyy-MM-dd')",
        ("channel", "day"),
        "update",
        keyed=True,
    ),
    "q17": Query(
        "bids of an auction, by day",
        "SELECT auction, date_format(time, 'yyyy-MM-dd') AS day, count(*) AS n, count_if(price < 10000) AS low,"
        " count_if(price >= 10000 AND price < 1000000) AS middle, count_if(price >= 1000000) AS high,"
        " min(price) AS least, max(price) AS most, avg(price) AS mean, sum(price) AS total"
        " FROM bid GROUP BY auction, date_format(time, 'yyyy-MM-dd')",
        "SELECT auction, DATE_FORMAT(`time`, 'yyyy-MM-dd') AS `day`, COUNT(*), COUNT(*) FILTER (WHERE price < 10000),"
        " COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000), COUNT(*) FILTER (WHERE price >= 1000000),"
        " MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), SUM(price)"
        " FROM bid GROUP BY auction, DATE_FORMAT(`time`, 'yyyy-MM-dd')",
        ("auction", "day"),
        "update",
    ),
    "q18": Query(
        "the last bid of a person on an auction",
        "SELECT bidder, auction, max_by(struct(price, channel, url, time, extra), time) AS last FROM bid"
        " GROUP BY bidder, auction",
        "SELECT bidder, auction, price, channel, url, `time`, extra FROM (SELECT *, ROW_NUMBER() OVER"
        " (PARTITION BY bidder, auction ORDER BY `time` DESC) AS place FROM bid) WHERE place = 1",
        ("bidder", "auction"),
        "update",
    ),
    "q19": Query(
        "the ten highest bids of an auction",
        "SELECT rank, auction, bidder, price, channel, url, time, extra FROM (SELECT *, row_number() OVER"
        " (PARTITION BY auction ORDER BY price DESC, time) AS rank FROM bid) WHERE rank <= 10",
        "SELECT auction, bidder, price, channel, url, `time`, extra FROM (SELECT *, ROW_NUMBER() OVER"
        " (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) WHERE place <= 10",
        ("auction", "rank"),
        "update",
        keyed=True,
    ),
    "q20": Query(
        "bids with their auctions, of one category",
        "SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.time, b.extra, a.item, a.description,"
        " a.initial_bid, a.reserve, a.expires, a.seller FROM bid b JOIN auction a ON b.auction = a.id"
        " WHERE a.category = 10",
        "SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.`time`, b.extra, a.item, a.description,"
        " a.initial_bid, a.reserve, a.expires, a.seller FROM bid b JOIN auction a ON b.auction = a.id"
        " WHERE a.category = 10",
    ),
}
