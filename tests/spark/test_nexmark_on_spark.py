"""Each query of NEXMark, as it is written for Flink, on Spark streams: after every run it is the answer over what came.

Rows that are kept up to date come as changes, and those of windows that are joined as well; the others are final.  All
queries read the same streams, whose times have a zone, as Spark's watermarks need it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "nexmark")]
import nexmark_oracles
import nexmark_streams
from streams import FedStream, read_rows, run_some_at_once
from test_nexmark import FUNCTIONS, ROW_BY_ROW, TABLES, TEXTS, UPDATING, count_rows, plain

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.RowsAtTheEndWarning"),
]

AS_CHANGES = (*UPDATING, "q5", "q8")
BY_THE_CLOCK = ("q12",)  # Spark's own: tests cannot move it
STREAMS = ("person", "auction", "bid")
LATE = timedelta(days=1)
Row = dict[str, Any]


def emit_of(name: str) -> str:
    return "changes" if name in AS_CHANGES else "final"


def with_zone(schema: pa.Schema) -> pa.Schema:
    zoned = pa.timestamp("us", "UTC")
    return pa.schema([field.with_type(zoned) if pa.types.is_timestamp(field.type) else field for field in schema])


SCHEMAS = {name: with_zone(TABLES[name].schema) for name in STREAMS}


def make_batches() -> list[dict[str, list[Row]]]:
    """Two, of about the same number of events; behind the second, a day later, what settles the rest."""
    rows = nexmark_streams.make_rows(events=300)
    times = sorted(row["dateTime"] for each in rows.values() for row in each)
    first, second = (
        {name: [row for row in rows[name] if (row["dateTime"] < times[150]) == is_first] for name in STREAMS}
        for is_first in (True, False)
    )
    late = {name: [make_late(rows[name][-1], number) for number in (1, 2)] for name in STREAMS}
    return [first, {name: [*second[name], *late[name]] for name in STREAMS}]


def make_late(row: Row, number: int) -> Row:
    """The same, a day later, of an auction and a person that nobody knows."""
    moved = {name: value + number * LATE for name, value in row.items() if isinstance(value, datetime)}
    named = {name: 10**6 + number for name in ("id", "auction", "bidder", "seller") if name in row}
    priced = {"price": row["price"] + number} if "price" in row else {}
    return {**row, **moved, **named, **priced}


def as_table(name: str, rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=TABLES[name].schema).cast(SCHEMAS[name])


def as_text(value: Any) -> Any:
    """A time as Spark writes it into JSON; numbers that are equal, whatever their type."""
    if isinstance(value, datetime):
        return (
            (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(timespec="microseconds")
        )
    return plain(value)


def as_texts(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({tuple(map(as_text, row)): number for row, number in rows.items()})


def as_json(frame: Any, name: str) -> Any:
    """Rows of all queries in one shape: name of the query, row as JSON."""
    from pyspark.sql.functions import col, lit, struct, to_json

    told = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
    row = to_json(struct(*(col(f"`{column}`").alias(f"c{at}") for at, column in enumerate(frame.columns))), told)
    return frame.select(lit(name).alias("query"), row.alias("row"))


def read_found(spark: Any, folders: list[Path]) -> dict[str, Counter[tuple[Any, ...]]]:
    """By query, how often each row is there; less than zero: it went more often than it came."""
    found: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in TEXTS}
    for folder in folders:
        for name, row in zip(*read_rows(spark, folder).to_pydict().values(), strict=True):
            cells = [plain(cell) for cell in json.loads(row, parse_float=Decimal).values()]
            if name in AS_CHANGES:
                change, _, _, *cells = cells
                found[name][tuple(cells)] += 1 if change == "insert" else -1
            else:
                found[name][tuple(cells)] += 1
    return found


def expect(name: str, batches: list[dict[str, list[Row]]]) -> Counter[tuple[Any, ...]]:
    """What is kept up to date and what is looked at row by row: the answer over all events so far.  Of the others what
    these events settle, as it comes out of a query in this process."""
    if name in UPDATING or name in ROW_BY_ROW:
        rows = {stream: [row for batch in batches for row in batch[stream]] for stream in STREAMS}
        answer = nexmark_oracles.ORACLES[name]({**rows, "side_input": nexmark_streams.make_side_rows()})
        return Counter(tuple(map(as_text, row)) for row in answer)
    read = {stream: SCHEMAS[stream] for stream in STREAMS if stream in TEXTS[name]}
    emit = emit_of(name)
    times = dict.fromkeys(read, "dateTime")
    opened = cep.open(TEXTS[name], dialect="flink", event_time=times, emit=emit, **read)
    there: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        there.update(count_rows(opened.push(**{stream: as_table(stream, batch[stream]) for stream in read}), emit))
    return +as_texts(there)


def start(spark: Any, name: str, streams: dict[str, FedStream]) -> Any:
    read = {each: stream.frame() for each, stream in streams.items() if each in TEXTS[name]}
    tables = {"side_input": spark.createDataFrame(TABLES["side_input"])} if "side_input" in TEXTS[name] else {}
    times = dict.fromkeys(read, "dateTime")
    lateness = None if name in (*ROW_BY_ROW, *BY_THE_CLOCK) else timedelta(0)
    asked = {"key_groups": 4, "dialect": "flink", "functions": FUNCTIONS, "emit": emit_of(name), "lateness": lateness}
    return cep.sql(TEXTS[name], event_time=times, **asked, **read, **tables)


def unite(spark: Any, names: list[str], streams: dict[str, FedStream]) -> Any:
    return reduce(lambda one, other: one.union(other), (as_json(start(spark, name, streams), name) for name in names))


def test_flink_spelling_runs_on_streams_with_restart(spark: Any, tmp_path: Path) -> None:
    """Queries over the same streams are united: starting each of them would take longer than all else."""
    streams = {name: FedStream(spark, tmp_path / name, SCHEMAS[name]) for name in STREAMS}
    batches = make_batches()
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name in sorted(TEXTS, key=lambda name: name not in BY_THE_CLOCK):
        kind = (name in BY_THE_CLOCK, name in ROW_BY_ROW, emit_of(name))
        groups.setdefault((*kind, *(stream in TEXTS[name] for stream in STREAMS)), []).append(name)
    united = [("-".join(names), names) for names in groups.values()]
    for fed in (1, 2):
        for name, stream in streams.items():
            stream.feed(as_table(name, batches[fed - 1][name]))
        run_some_at_once([(unite(spark, names, streams), tmp_path / folder) for folder, names in united], 2)
        found = read_found(spark, [tmp_path / folder for folder, _ in united])
        wrong = {}
        for name in TEXTS:
            assert min(found[name].values(), default=0) >= 0, f"a row of {name} goes before it came"
            if name in BY_THE_CLOCK:
                check_windows_of_arrivals(found[name], batches[: fed - 1])
                continue
            expected = expect(name, batches[:fed])
            assert expected or fed == 1, f"{name} would say nothing"
            if +found[name] != expected:
                wrong[name] = (expected - found[name], found[name] - expected)
        assert not wrong
        united.reverse()  # the windows of ten seconds by the clock are over when that goes on, at last


def check_windows_of_arrivals(found: Counter[tuple[Any, ...]], batches: list[dict[str, list[Row]]]) -> None:
    """Each batch is there at one moment: its bids are in one window, which a later batch closes."""
    bidders = Counter(bid["bidder"] for batch in batches for bid in batch["bid"])
    assert Counter({bidder: count for bidder, count, *_ in found}) == bidders
    lengths = {datetime.fromisoformat(end) - datetime.fromisoformat(begin) for _, _, begin, end in found}
    assert lengths <= {timedelta(seconds=10)}
