"""What each query of nexmark_queries.py gives, in plain Python over the rows of nexmark_streams.py,
as tuples.

Nothing of Cepheid is asked.  The rows come in no order, but those of patterns, which come by key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

Row = dict[str, Any]
Rows = list[tuple[Any, ...]]
Streams = dict[str, list[Row]]

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone, as Flink has them)
END = EPOCH + timedelta(days=100_000)
NOW = EPOCH + timedelta(days=20_000, seconds=34)
TEN_SECONDS = timedelta(seconds=10)
RATE = Decimal("0.908")
BID = ("auction", "bidder", "price", "channel", "url", "dateTime", "extra")
AUCTION = (
    "id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller", "category", "extra"
)  # fmt: skip


def pick(row: Row, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def floor_time(moment: datetime, size: timedelta) -> datetime:
    return moment - (moment - EPOCH) % size


def gather(rows: list[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by key, each list in the order of the stream."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def mean(values: list[int]) -> int:
    """Flink's AVG of whole numbers is a whole number."""
    return sum(values) // len(values)


def valid_bids(streams: Streams) -> Iterator[tuple[Row, Row]]:
    """Bids while their auction is open."""
    for auction in streams["auction"]:
        for bid in streams["bid"]:
            if bid["auction"] == auction["id"] and auction["dateTime"] <= bid["dateTime"] <= auction["expires"]:
                yield auction, bid


def winning_bids(streams: Streams) -> list[tuple[Row, Row]]:
    """Of each auction the highest bid; no two have the same price."""
    best: dict[int, tuple[Row, Row]] = {}
    for auction, bid in valid_bids(streams):
        if auction["id"] not in best or bid["price"] > best[auction["id"]][1]["price"]:
            best[auction["id"]] = (auction, bid)
    return list(best.values())


# --- row by row ------------------------------------------------------------------------------------------
def q0(streams: Streams) -> Rows:
    return [pick(bid, ("auction", "bidder", "price", "dateTime", "extra")) for bid in streams["bid"]]


def q1(streams: Streams) -> Rows:
    return [(b["auction"], b["bidder"], RATE * b["price"], b["dateTime"], b["extra"]) for b in streams["bid"]]


def q2(streams: Streams) -> Rows:
    return [(bid["auction"], bid["price"]) for bid in streams["bid"] if bid["auction"] % 123 == 0]


def q10(streams: Streams) -> Rows:
    return [
        (*pick(bid, ("auction", "bidder", "price", "dateTime", "extra")), f"{at:%Y-%m-%d}", f"{at:%H:%M}")
        for bid in streams["bid"]
        for at in [bid["dateTime"]]
    ]


def q14(streams: Streams) -> Rows:
    found: Rows = []
    for bid in streams["bid"]:
        price, hour = RATE * bid["price"], bid["dateTime"].hour
        if 1_000_000 < price < 50_000_000:
            kind = "dayTime" if 8 <= hour <= 18 else "nightTime" if hour <= 6 or hour >= 20 else "otherTime"
            counted = bid["extra"].count("c")
            found.append((bid["auction"], bid["bidder"], price, kind, bid["dateTime"], bid["extra"], counted))
    return found


def q21(streams: Streams) -> Rows:
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    found: Rows = []
    for bid in streams["bid"]:
        parts = bid["url"].split("&channel_id=")
        written = parts[1] if len(parts) > 1 else None
        channel = known.get(bid["channel"].lower(), written)
        if written is not None or bid["channel"].lower() in known:
            found.append((*pick(bid, ("auction", "bidder", "price", "channel")), channel))
    return found


def q22(streams: Streams) -> Rows:
    found: Rows = []
    for bid in streams["bid"]:
        parts = [*bid["url"].split("/"), None, None, None]
        found.append((*pick(bid, ("auction", "bidder", "price", "channel")), *parts[3:6]))
    return found


# --- joins -----------------------------------------------------------------------------------------------
def q3(streams: Streams) -> Rows:
    return [
        (person["name"], person["city"], person["state"], auction["id"])
        for auction in streams["auction"]
        for person in streams["person"]
        if auction["seller"] == person["id"] and auction["category"] == 10 and person["state"] in ("OR", "ID", "CA")
    ]


def q9(streams: Streams) -> Rows:
    names = ("auction", "bidder", "price", "dateTime", "extra")
    return [(*pick(auction, AUCTION), *pick(bid, names)) for auction, bid in winning_bids(streams)]


def q13(streams: Streams) -> Rows:
    side = {row["key"]: row["value"] for row in streams["side_input"]}
    return [
        (*pick(bid, ("auction", "bidder", "price", "dateTime")), side[bid["auction"] % 10000])
        for bid in streams["bid"]
        if bid["auction"] % 10000 in side
    ]


def q20(streams: Streams) -> Rows:
    return [
        (*pick(bid, BID), *pick(auction, AUCTION[1:]))
        for bid in streams["bid"]
        for auction in streams["auction"]
        if bid["auction"] == auction["id"] and auction["category"] == 10
    ]


# --- groups ----------------------------------------------------------------------------------------------
def q4(streams: Streams) -> Rows:
    by_category: dict[int, list[int]] = defaultdict(list)
    for auction, bid in winning_bids(streams):
        by_category[auction["category"]].append(bid["price"])
    return [(category, mean(prices)) for category, prices in by_category.items()]


def q6(streams: Streams) -> Rows:
    by_seller: dict[int, list[Row]] = defaultdict(list)
    for auction, bid in winning_bids(streams):
        by_seller[auction["seller"]].append(bid)
    found: Rows = []
    for seller, bids in by_seller.items():
        prices = [bid["price"] for bid in sorted(bids, key=lambda bid: bid["dateTime"])]
        found += [(seller, mean(prices[max(0, number - 10) : number + 1])) for number in range(len(prices))]
    return found


def count_by_price(bids: list[Row], counted: Callable[[list[Row]], int]) -> tuple[int, ...]:
    low = [bid for bid in bids if bid["price"] < 10_000]
    high = [bid for bid in bids if bid["price"] >= 1_000_000]
    middle = [bid for bid in bids if 10_000 <= bid["price"] < 1_000_000]
    return tuple(counted(some) for some in (bids, low, middle, high))


def all_counts(bids: list[Row]) -> tuple[int, ...]:
    return (
        *count_by_price(bids, len),
        *count_by_price(bids, lambda some: len({bid["bidder"] for bid in some})),
        *count_by_price(bids, lambda some: len({bid["auction"] for bid in some})),
    )


def day_of(bid: Row) -> str:
    return f"{bid['dateTime']:%Y-%m-%d}"


def q15(streams: Streams) -> Rows:
    return [(day, *all_counts(bids)) for day, bids in gather(streams["bid"], day_of).items()]


def q16(streams: Streams) -> Rows:
    groups = gather(streams["bid"], lambda bid: (bid["channel"], day_of(bid)))
    return [(*key, max(f"{bid['dateTime']:%H:%M}" for bid in bids), *all_counts(bids)) for key, bids in groups.items()]


def q17(streams: Streams) -> Rows:
    groups = gather(streams["bid"], lambda bid: (bid["auction"], day_of(bid)))
    found: Rows = []
    for key, bids in groups.items():
        prices = [bid["price"] for bid in bids]
        found.append((*key, *count_by_price(bids, len), min(prices), max(prices), mean(prices), sum(prices)))
    return found


def q18(streams: Streams) -> Rows:
    groups = gather(streams["bid"], lambda bid: (bid["bidder"], bid["auction"]))
    return [pick(bids[-1], BID) for bids in groups.values()]


def q19(streams: Streams) -> Rows:
    found: Rows = []
    for bids in gather(streams["bid"], lambda bid: bid["auction"]).values():
        ranked = sorted(bids, key=lambda bid: -bid["price"])[:10]
        found += [(*pick(bid, BID), place) for place, bid in enumerate(ranked, 1)]
    return found


# --- windows ---------------------------------------------------------------------------------------------
def q5(streams: Streams) -> Rows:
    counts: dict[datetime, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for bid in streams["bid"]:
        last = floor_time(bid["dateTime"], timedelta(seconds=2))
        for back in range(5):
            counts[last - timedelta(seconds=2 * back)][bid["auction"]] += 1
    return [
        (auction, number)
        for groups in counts.values()
        for auction, number in groups.items()
        if number >= max(groups.values())
    ]


def q7(streams: Streams) -> Rows:
    windows = gather(streams["bid"], lambda bid: floor_time(bid["dateTime"], TEN_SECONDS))
    best = [(start, max(bid["price"] for bid in bids)) for start, bids in windows.items()]
    return [
        pick(bid, ("auction", "price", "bidder", "dateTime", "extra"))
        for bid in streams["bid"]
        for start, price in best
        if bid["price"] == price and start <= bid["dateTime"] <= start + TEN_SECONDS
    ]


def q8(streams: Streams) -> Rows:
    sellers = {(row["seller"], floor_time(row["dateTime"], TEN_SECONDS)) for row in streams["auction"]}
    found: Rows = []
    for person in streams["person"]:
        start = floor_time(person["dateTime"], TEN_SECONDS)
        if (person["id"], start) in sellers:
            found.append((person["id"], person["name"], start))
    return found


def q11(streams: Streams) -> Rows:
    found: Rows = []
    for bidder, bids in gather(streams["bid"], lambda bid: bid["bidder"]).items():
        session: list[datetime] = []
        for at in [*(bid["dateTime"] for bid in bids), END]:
            if session and at - session[-1] > TEN_SECONDS:
                found.append((bidder, len(session), session[0], session[-1] + TEN_SECONDS))
                session = []
            session.append(at)
    return found


def q12(streams: Streams) -> Rows:
    """The clock stands still at NOW: all bids are in one window."""
    starts = floor_time(NOW, TEN_SECONDS)
    by_bidder = gather(streams["bid"], lambda bid: bid["bidder"])
    return [(bidder, len(bids), starts, starts + TEN_SECONDS) for bidder, bids in by_bidder.items()]


# --- patterns --------------------------------------------------------------------------------------------
def rising_bids(streams: Streams) -> Rows:
    """The greedy loop takes all that rise; a match needs one that falls behind them, in less than 20 seconds."""
    found: Rows = []
    for auction, bids in gather(streams["bid"], lambda bid: bid["auction"]).items():
        at = 0
        while at < len(bids):
            end = at
            while end + 1 < len(bids) and bids[end + 1]["price"] > bids[end]["price"]:
                end += 1
            fall = end + 1
            closed = end > at and fall < len(bids)
            if closed and bids[fall]["dateTime"] - bids[at]["dateTime"] < timedelta(seconds=20):
                row = (bids[at]["price"], bids[end]["price"], end - at, bids[fall]["dateTime"])
                found.append((auction, *row))
                at = fall + 1
            else:
                at += 1
    return found


def fall_and_recovery(streams: Streams) -> Rows:
    """PRICE_UP is above the bid before the lowest: with one fall there is none, and nothing is above nothing."""
    found: Rows = []
    for auction, bids in gather(streams["bid"], lambda bid: bid["auction"]).items():
        at = 0
        while at < len(bids):
            low = at
            while low + 1 < len(bids) and bids[low + 1]["price"] < bids[low]["price"]:
                low += 1
            up = low + 1
            if low - at >= 2 and up < len(bids) and bids[up]["price"] > bids[low - 1]["price"]:
                found.append((auction, bids[at]["price"], bids[low]["price"], bids[up]["dateTime"]))
                at = up
            else:
                at += 1
    return found


def late_first_bid(streams: Streams) -> Rows:
    found: Rows = []
    for auction in streams["auction"]:
        later = [
            bid for bid in streams["bid"] if bid["auction"] == auction["id"] and bid["dateTime"] > auction["dateTime"]
        ]
        if later and later[0]["dateTime"] > auction["dateTime"] + timedelta(seconds=1):
            found.append((auction["id"], auction["dateTime"], later[0]["dateTime"]))
    return found


def quick_bids(streams: Streams) -> Rows:
    found: Rows = []
    for bidder, bids in gather(streams["bid"], lambda bid: bid["bidder"]).items():
        for first, second, third in zip(bids, bids[1:], bids[2:], strict=False):
            quick = third["dateTime"] - first["dateTime"] < timedelta(seconds=2)
            if quick and second["auction"] != first["auction"]:
                total = first["price"] + second["price"] + third["price"]
                found.append((bidder, first["dateTime"], third["dateTime"], total))
    return found


def gather_pairs(streams: Streams) -> dict[tuple[int, int], list[Row]]:
    return gather(streams["bid"], lambda bid: (bid["auction"], bid["bidder"]))


def cep_q0(streams: Streams) -> Rows:
    """As fall_and_recovery, of each bidder in an auction."""
    found: Rows = []
    for pair, bids in gather_pairs(streams).items():
        at = 0
        while at < len(bids):
            low = at
            while low + 1 < len(bids) and bids[low + 1]["price"] < bids[low]["price"]:
                low += 1
            up = low + 1
            if low - at >= 2 and up < len(bids) and bids[up]["price"] > bids[low - 1]["price"]:
                found.append((*pair, *(bids[place]["dateTime"] for place in (at, low, up))))
                at = up
            else:
                at += 1
    return found


def find_low_means(streams: Streams, skips_match: bool) -> Rows:
    """The loop takes bids while their mean is low; the last bid of all is B, which may be any."""
    found: Rows = []
    for pair, bids in gather_pairs(streams).items():
        at = 0
        while at < len(bids):
            end, total = at, 0
            while end < len(bids) - 1 and total + bids[end]["price"] < 10_000 * (end + 1 - at):
                total += bids[end]["price"]
                end += 1
            if end > at:
                found.append((*pair, bids[at]["dateTime"], bids[end - 1]["dateTime"], total // (end - at)))
            at = end + 1 if end > at and skips_match else at + 1
    return found


def cep_q1(streams: Streams) -> Rows:
    return find_low_means(streams, skips_match=True)


def cep_q2(streams: Streams) -> Rows:
    return find_low_means(streams, skips_match=False)


def cep_q3(streams: Streams) -> Rows:
    found: Rows = []
    for pair, bids in gather_pairs(streams).items():
        at = 0
        while at < len(bids):
            least, down = bids[at]["price"] - 50, at + 1
            while down < len(bids) and bids[down]["price"] > least:
                down += 1
            quick = down < len(bids) and bids[down]["dateTime"] - bids[at]["dateTime"] < timedelta(seconds=5)
            if quick and bids[down]["price"] < least:
                found.append((*pair, bids[down]["dateTime"], bids[at]["price"] - bids[down]["price"]))
                at = down + 1
            else:
                at += 1
    return found


ORACLES: dict[str, Callable[[Streams], Rows]] = {
    oracle.__name__: oracle
    for oracle in (
        q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22,
        rising_bids, fall_and_recovery, late_first_bid, quick_bids, cep_q0, cep_q1, cep_q2, cep_q3,
    )
}  # fmt: skip
