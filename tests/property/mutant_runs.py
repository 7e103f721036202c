"""Run a query that may be wrong in any way: rows or a CepheidError, in time; what else happens is a finding.

rows         over tables and as a continuous query: where both answer, the same
an error     a code, a sentence in our words, a next step; for a mistake in the text, its place in the text
"""

from __future__ import annotations

import math
import re
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.errors import CepheidError, SyntaxProblem
from cepheid.schema import read_schema

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "golden"))
from golden_files import HERE, read_cases, read_events  # noqa: E402 (the folder is no package)

LONGEST_S = 60.0  # kernels may have to be compiled
MOST_EVENTS = 8
MOST_ROWS = 10_000  # that are compared
NEEDS_PLACE = ("syntax", "unknown-column", "unknown-stream", "unknown-variable", "type-mismatch", "invalid-within")
FOREIGN_TEXT = re.compile(
    r"sqlglot|Traceback|<class|object at 0x|exp\.[A-Z]|pyarrow|numba|LINE \d|NoneType|KeyError|Expression\("
    r"|\bthis=|Span\(|_input\b|_cep_\d|_over_\d|_part_\d|INTERNAL Error|\(this"
)
UNSETTLED = re.compile(
    r"\b(random|rand|uuid|now|current_\w+|localtime\w*|limit|fetch|offset|tablesample|any_value|arbitrary|ntile)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Seed:
    """A query that means something, and what it is about."""

    name: str
    query: str
    tables: Mapping[str, pa.Table]


@dataclass(frozen=True)
class Finding:
    """What must not be; `kind`: findings with the same cause are of one kind."""

    kind: str
    query: str
    told: str


class TooLong(BaseException):
    """No answer in time; nothing may catch it but us."""


def read_seeds() -> list[Seed]:
    """All golden queries, and those of the README."""
    seeds = []
    for folder in ("matching", "rewrite", "explain", "errors"):
        for path in sorted((HERE / folder).glob("*.txt")):
            for number, case in enumerate(read_cases(path)):
                tables = read_events(case.events) if case.events else make_buses()
                few = {name: table.slice(0, MOST_EVENTS) for name, table in tables.items()}
                seeds.append(Seed(f"{folder}/{path.stem}:{number}", case.query, few))
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return [*seeds, *(Seed(f"README:{number}", text, make_market()) for number, text in enumerate(blocks))]


def make_buses() -> dict[str, pa.Table]:
    times = pa.array([0, 1, 2, 2, 5, 9], pa.timestamp("s")).cast(pa.timestamp("us"))
    buses = {
        "bus": [1, 1, 2, 1, 2, 1],
        "delay": [1.0, 70.0, None, 80.0, 3.0, 90.0],
        "line": ["a", "b", None, "a", "b", "b"],
    }
    stops = {"bus": [1, 2, 1, 1, 2, 2], "stop": ["x", "y", "x", None, "z", "y"]}
    return {"buses": pa.table({"ts": times, **buses}), "stops": pa.table({"ts": times, **stops})}


def make_market() -> dict[str, pa.Table]:
    times = pa.array([0, 1, 2, 3], pa.timestamp("s")).cast(pa.timestamp("us"))
    priced = pa.table({"ts": times, "id": [1, 1, 2, 1], "price": [10.0, 11.0, 12.5, 9.0]})
    kinds = pa.table({"ts": times, "id": [1, 2, 2, 1], "kind": ["all", "new", None, "all"]})
    return {"bids": priced, "asks": priced, "trades": priced, "cancels": kinds, "orders": kinds}


# --- runs -------------------------------------------------------------------------------------------------


def find_fault(query: str, tables: Mapping[str, pa.Table]) -> Finding | None:
    """Both ways to run it, and whether they agree."""
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _compare(query, tables)
    except TooLong as slow:
        return Finding(f"no answer in {LONGEST_S:g} s: {slow}", query, str(slow))


def _compare(query: str, tables: Mapping[str, pa.Table]) -> Finding | None:
    batch = _attempt(query, lambda: cep.sql(query, **tables))
    if isinstance(batch, Finding | SyntaxProblem):
        return batch if isinstance(batch, Finding) else None  # the text is read in one way only
    stream = _attempt(query, lambda: _run_continuously(query, tables))
    if isinstance(stream, Finding):
        return stream
    if isinstance(batch, pa.Table) and isinstance(stream, pa.Table) and not UNSETTLED.search(query):
        return _differ(query, batch, stream)
    return None


def _run_continuously(query: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    opened = cep.open(query, **{name: read_schema(name, table) for name, table in tables.items()})
    return pa.concat_tables([opened.push(**tables), opened.finish()])


def _attempt(query: str, run: Any) -> pa.Table | CepheidError | Finding:
    try:
        return run()
    except CepheidError as problem:
        return _check_error(query, problem) or problem
    except TooLong:
        raise
    except BaseException as problem:  # noqa: BLE001 (whatever it is, it is what we look for)
        return Finding(describe_bottom(problem), query, "".join(traceback.format_exception(problem)[-12:]))


def describe_bottom(problem: BaseException) -> str:
    """The kind of an exception and the innermost lines of ours."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "cepheid" in frame.filename and "tests" not in frame.filename][-1:]
    places = [f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}" for frame in (*ours, frames[-1])]
    return f"{type(problem).__name__} at {' < '.join(dict.fromkeys(places))}: {str(problem)[:60]}"


def _check_error(query: str, problem: CepheidError) -> Finding | None:
    told = str(problem)
    lacks = []
    if not problem.message or not problem.code or problem.code == "error":
        lacks.append("no code or no message")
    if not problem.hint:
        lacks.append("no hint")
    found = FOREIGN_TEXT.search(f"{problem.message}\n{problem.hint}")
    if found and found[0] not in query:
        lacks.append(f"foreign text {found[0]}")
    span = problem.span
    if span is None and problem.code in NEEDS_PLACE:
        lacks.append("no place")
    if span is not None and not (0 <= span.start <= span.end <= len(query) and problem.text == query):
        lacks.append("a place outside of the text")
    if not lacks:
        return None
    where = describe_bottom(problem).split(":")
    return Finding(f"{problem.code}: {', '.join(lacks)} at {':'.join(where[:3])}", query, told)


def _differ(query: str, batch: pa.Table, stream: pa.Table) -> Finding | None:
    """Do the two have other rows?"""
    if batch.column_names != stream.column_names:
        return Finding("other columns", query, f"{batch.schema}\n{stream.schema}")
    if len(batch) > MOST_ROWS:
        return None
    one, other = (Counter(map(_as_key, table.to_pylist())) for table in (batch, stream))
    if one == other:
        return None
    return Finding("other rows", query, f"batch only: {one - other}\nstream only: {other - one}"[:3000])


def _as_key(row: Mapping[str, Any]) -> str:
    return repr([_rounded(value) for value in row.values()])


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.9g}") + 0.0
    return value


@contextmanager
def in_time() -> Iterator[None]:
    """An alarm that is heard wherever Python runs."""

    def ring(_: int, frame: FrameType | None) -> None:
        stack = traceback.extract_stack(frame)
        ours = [line for line in stack if "src/cepheid" in line.filename][-1:]
        raise TooLong(" < ".join(f"{Path(line.filename).name}:{line.name}" for line in (*ours, stack[-1])))

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
