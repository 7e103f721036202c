"""Every row of the page about patterns of other systems finds the matches that stand in it.

    | there | `SEQ(a x FOLLOWED BY b y)` | a1 c1 b1 | a1 b1 | remark |

in `cep.sql` over tables and event by event in `cep.open`; a row without events says that there is no counterpart.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError

PAGE = (Path(__file__).parents[2] / "docs/reference/patterns-elsewhere.md").read_text()
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone, as in the tables)
SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("name", pa.string()), ("price", pa.int64())])
TERM = re.compile(
    r"(?<![\w.~])(?<!UNTIL )(?<!NOT NEXT )(?<!NOT FOLLOWED BY )[a-e](?:[?*+]|\{[\d,]+\})? ([n-z])\b(\[\])?"
)


@dataclass(frozen=True)
class Row:
    """What one row of a table says; `events` is empty where there is no counterpart."""

    there: str
    here: str
    events: tuple[str, ...]
    finds: str


def read_rows() -> list[Row]:
    rows = []
    for line in PAGE.splitlines():
        if line.startswith("| `") or (line.startswith("| ") and not line.endswith("| remark |")):
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            there, here, events, finds, _ = cells
            rows.append(Row(there, here.strip("`"), tuple(events.split()), finds))
    return rows


ROWS = read_rows()
RUN = [row for row in ROWS if row.events]


def list_events(row: Row) -> list[dict[str, Any]]:
    return [
        {"ts": EPOCH + timedelta(seconds=second), "kind": name[0], "name": name, "price": int(name[1:])}
        for second, name in enumerate(row.events)
        if name != "."
    ]


def choose_columns(row: Row) -> list[str]:
    """The names of the events of each variable of SEQ."""
    pattern = row.here.split(" WHERE ")[0]
    repeats_group = re.search(r"\)(?:[*+]|\{)", pattern)
    columns = [
        f"array_agg({name}[].name) AS {name}" if many or repeats_group else f"{name}.name AS {name}"
        for name, many in TERM.findall(pattern)
    ]
    columns += ["MATCH_TIME() AS done"] * ("at " in row.finds)
    return columns + ["TIMED_OUT() AS late"] * ("TIMEOUT ROWS" in row.here)


def build_pattern(written: ast.expr) -> Any:
    """What a chain of calls on `cep` gives, with arguments that are literals or such chains."""
    match written:
        case ast.Name(id="cep"):
            return cep
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=given, keywords=named):
            call = getattr(build_pattern(owner), name)
            values = {str(each.arg): ast.literal_eval(each.value) for each in named}
            return call(
                *(build_pattern(each) if isinstance(each, ast.Call) else ast.literal_eval(each) for each in given),
                **values,
            )
    raise AssertionError(f"the page has more than calls: {ast.unparse(written)}")


def write_query(row: Row) -> Any:
    if row.here.startswith("cep.pattern("):
        pattern = build_pattern(ast.parse(row.here, mode="eval").body)
        found = {
            term.variable: f"array_agg({term.variable}[].name)" if term.repeated else f"{term.variable}.name"
            for term in pattern.terms
            if not term.negated
        }
        return pattern.select(**found)
    if row.here.startswith("e MATCH_RECOGNIZE"):
        return f"SELECT * FROM {row.here}"
    return f"SELECT {', '.join(choose_columns(row))} FROM PATTERN {row.here}"


def list_streams(row: Row) -> list[str]:
    """The streams that the query reads."""
    written = re.findall(r'"([a-e])"', row.here) if row.here.startswith("cep.") else []
    read = re.findall(r"(?<![\w.])([a-e])(?=(?:[?*+]|\{[\d,]+\})? [n-z]\b)", row.here)
    return sorted({*written, *read} or {"e"})


def show_matches(row: Row, matches: list[dict[str, Any]]) -> Counter[str]:
    places = {name: number for number, name in enumerate(row.events)}
    shown: Counter[str] = Counter()
    for match in matches:
        done = match.pop("done", None)
        assert match.pop("late", True), "the example of TIMEOUT ROWS has no whole match"
        names: list[str] = []
        for value in match.values():
            names += value if isinstance(value, list) else [value] if value is not None else []
        text = " ".join(sorted(names, key=places.__getitem__))
        shown[f"{text} at {(done - EPOCH).total_seconds():g}".strip() if done is not None else text] += 1
    return shown


def expect_matches(row: Row) -> Counter[str]:
    return Counter(part.strip() for part in row.finds.split(";"))


def run_table(row: Row) -> list[dict[str, Any]]:
    events = list_events(row)
    tables = {
        stream: pa.Table.from_pylist([event for event in events if stream in ("e", event["kind"])], schema=SCHEMA)
        for stream in list_streams(row)
    }
    found: list[dict[str, Any]] = cep.sql(write_query(row), **tables).to_pylist()
    return found


def run_stream(row: Row) -> list[dict[str, Any]]:
    streams = list_streams(row)
    query = cep.open(write_query(row), **dict.fromkeys(streams, SCHEMA))
    found: list[dict[str, Any]] = []
    for event in list_events(row):
        for stream in streams:
            if stream in ("e", event["kind"]):
                found += query.push(**{stream: pa.Table.from_pylist([event], schema=SCHEMA)}).to_pylist()
    return found + query.finish().to_pylist()


def test_every_line_of_the_tables_is_a_row_and_only_those_without_counterpart_are_not_run() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    heads = PAGE.count("|---|---|---|---|---|")
    assert heads == 5
    assert len(ROWS) == len(lines) - 2 * heads >= 80
    assert [row.here for row in ROWS if not row.events] == ["no counterpart"] * PAGE.count("| no counterpart |")
    assert len(RUN) + PAGE.count("| no counterpart |") == len(ROWS)


@pytest.mark.parametrize("row", RUN, ids=lambda row: row.there)
def test_a_row_finds_its_matches_in_tables(row: Row) -> None:
    if row.finds == "refused":
        with pytest.raises(CepheidError):
            run_table(row)
        return
    assert show_matches(row, run_table(row)) == expect_matches(row)


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
@pytest.mark.parametrize("row", RUN, ids=lambda row: row.there)
def test_a_row_finds_its_matches_event_by_event(row: Row) -> None:
    if row.finds == "refused":
        with pytest.raises(CepheidError):
            run_stream(row)
        return
    assert show_matches(row, run_stream(row)) == expect_matches(row)
