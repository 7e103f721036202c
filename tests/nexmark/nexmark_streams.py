"""The three streams of an auction house and a side table, made from a seed: what the queries of this folder read.

Within a stream no two events have the same time, and no two bids the same price, so that every query has one answer.
Times are whole milliseconds, spread over about two minutes around the hour, so that hours and minutes differ.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
FIRST_ID = 1000
BEGIN = datetime(2026, 3, 8, 7, 59, 0)  # noqa: DTZ001 (times without a zone, as Flink has them)
MOMENT = pa.timestamp("us")
PERSON = pa.schema([
    ("id", pa.int64()), ("name", pa.string()), ("emailAddress", pa.string()), ("creditCard", pa.string()),
    ("city", pa.string()), ("state", pa.string()), ("dateTime", MOMENT), ("extra", pa.string()),
])  # fmt: skip
AUCTION = pa.schema([
    ("id", pa.int64()), ("itemName", pa.string()), ("description", pa.string()), ("initialBid", pa.int64()),
    ("reserve", pa.int64()), ("dateTime", MOMENT), ("expires", MOMENT), ("seller", pa.int64()),
    ("category", pa.int64()), ("extra", pa.string()),
])  # fmt: skip
BID = pa.schema([
    ("auction", pa.int64()), ("bidder", pa.int64()), ("price", pa.int64()), ("channel", pa.string()),
    ("url", pa.string()), ("dateTime", MOMENT), ("extra", pa.string()),
])  # fmt: skip
SIDE_INPUT = pa.schema([("key", pa.int64()), ("value", pa.string())])
SCHEMAS = {"person": PERSON, "auction": AUCTION, "bid": BID, "side_input": SIDE_INPUT}
EVENT_TIME = {"person": "dateTime", "auction": "dateTime", "bid": "dateTime"}

CITIES = (("Portland", "OR"), ("Boise", "ID"), ("Bend", "OR"), ("Redmond", "WA"), ("Kent", "WA"), ("Chico", "CA"))
CHANNELS = ("Google", "Facebook", "Baidu", "Apple", "channel-7", "channel-19", "channel-23")


def make_rows(seed: int = 5, events: int = 600) -> dict[str, list[Row]]:
    """Of 20 events one is a person, three are auctions and the others are bids; each stream is in order of time."""
    draw = random.Random(seed)
    now = BEGIN
    rows: dict[str, list[Row]] = {"person": [], "auction": [], "bid": []}
    for number in range(events):
        now += timedelta(milliseconds=draw.choice((1, 20, 150, 400)))
        if number % 200 == 199:
            now += timedelta(seconds=12)  # a pause in which sessions end
        place = number % 20
        if place == 0:
            rows["person"].append(_make_person(draw, FIRST_ID + len(rows["person"]), now))
        elif place < 4:
            auction = FIRST_ID + 100 + len(rows["auction"])
            rows["auction"].append(_make_auction(draw, auction, now, len(rows["person"])))
        else:
            rows["bid"].append(_make_bid(draw, number, now, rows))
    return rows


def make_tables(rows: dict[str, list[Row]]) -> dict[str, pa.Table]:
    """The same as Arrow tables, with the side table."""
    tables = {name: pa.Table.from_pylist(rows[name], schema=SCHEMAS[name]) for name in ("person", "auction", "bid")}
    return {**tables, "side_input": pa.Table.from_pylist(make_side_rows(), schema=SIDE_INPUT)}


def make_side_rows() -> list[Row]:
    """A value for two of three keys that `mod(auction, 10000)` can be."""
    return [{"key": key, "value": f"side-{key}"} for key in range(FIRST_ID, FIRST_ID + 300) if key % 3]


def _make_person(draw: random.Random, person: int, now: datetime) -> Row:
    city, state = draw.choice(CITIES)
    name = f"{draw.choice(('Ada', 'Ben', 'Cleo', 'Dan'))} {draw.choice(('Ash', 'Bell', 'Cole'))}"
    return {
        "id": person, "name": name, "emailAddress": f"{person}@mail.example", "creditCard": f"{person:016d}",
        "city": city, "state": state, "dateTime": now, "extra": _make_extra(draw),
    }  # fmt: skip


def _make_auction(draw: random.Random, auction: int, now: datetime, persons: int) -> Row:
    start = draw.randrange(1, 1000)
    return {
        "id": auction, "itemName": f"item {auction}", "description": f"a thing of {auction % 7} parts",
        "initialBid": start, "reserve": start + draw.randrange(1, 500), "dateTime": now,
        "expires": now + timedelta(milliseconds=draw.randrange(2000, 30000)),
        "seller": FIRST_ID + draw.randrange(persons), "category": 10 + draw.randrange(5), "extra": _make_extra(draw),
    }  # fmt: skip


def _make_bid(draw: random.Random, number: int, now: datetime, rows: dict[str, list[Row]]) -> Row:
    recent = rows["auction"][-8:]
    auction = 1107 if draw.random() < 0.05 else draw.choice(recent)["id"]  # 1107 is 9 * 123
    bidder = FIRST_ID + draw.randrange(len(rows["person"]))
    if draw.random() < 0.2:
        auction, bidder = 1107, FIRST_ID  # one who bids again and again
    price = 1000 * draw.randrange(10 ** draw.choice((1, 3, 5))) + number
    channel = draw.choice(CHANNELS)
    folders = "/".join("".join(draw.choices("abc", k=2)) for _ in range(draw.randrange(1, 4)))
    query = f"query=1&channel_id={draw.randrange(1000)}" if draw.random() < 0.7 else "query=1"
    return {
        "auction": auction, "bidder": bidder, "price": price,
        "channel": channel, "url": f"https://www.auctions.example/{folders}/item.htm?{query}", "dateTime": now,
        "extra": _make_extra(draw),
    }  # fmt: skip


def _make_extra(draw: random.Random) -> str:
    return "".join(draw.choices("abcd", k=draw.randrange(3, 9)))
