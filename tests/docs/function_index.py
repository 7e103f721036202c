"""The index of functions, docs/reference/function-index.md: each is tried in each place, and the page says what ran.

What the page says is therefore what happens.  `make golden` writes it anew.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

import cepheid as cep
from cepheid.errors import CepheidError, RowsAtTheEndWarning
from cepheid.kernel.aggregates.catalog import AGGREGATES
from cepheid.language.expressions.function_table import FUNCTIONS, find_function
from cepheid.language.parsing import (
    flink_functions,
    null_habits,
    risingwave_functions,
    spark_functions,
    trino_functions,
)

sys.path.append(str(Path(__file__).parent))
import function_examples as examples

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "function-index.md"
EVENTS = pa.table(
    {
        "ts": pa.array([datetime(2026, 1, 1, 0, 0, second) for second in (1, 2, 3, 4)], pa.timestamp("us")),  # noqa: DTZ001
        "k": [1, 1, 1, 1], "x": [1.0, 2.0, 4.0, 8.0], "n": [1, 2, 3, 4], "s": ["a", "b,c", "d", "e"],
        "b": [True, False, True, True], "tags": [["a"], ["b", "c"], ["a"], ["d"]],
    }
)  # fmt: skip
COLUMNS = ("ts", "x", "n", "s", "b", "tags")
TOGETHER = {
    "ts": "greatest(a.ts, b.ts)", "x": "(a.x + b.x)", "n": "(a.n + b.n)", "s": "(a.s || b.s)", "b": "(a.b AND b.b)",
    "tags": "(a.tags || b.tags)",
}  # fmt: skip
NO = "-"
Attempt = Callable[[str, str], list[str]]
"""Of a function and its example: what is said of each place."""

PATTERN = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {} AS r PATTERN (a b+) DEFINE b AS {})"
FRAME = "OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
IN_WINDOW = (
    "SELECT {} OVER w AS r FROM t WINDOW w AS (ORDER BY ts MEASURES a.x AS m ROWS BETWEEN CURRENT ROW AND UNBOUNDED "
    "FOLLOWING PATTERN (a b))"
)


def qualify(example: str, prefix: str) -> str:
    return example.format(**{name: f"{prefix}{name}" for name in COLUMNS})


def is_taken(query: str) -> bool:
    """Does it run over tables?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cep.sql(query, t=EVENTS)
    except CepheidError:
        return False
    return True


def try_continuously(query: str) -> str:
    """Who computes it as a continuous query: the kernel, or the host, whose rows may change until the end."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            opened = cep.open(query, t=EVENTS.schema)
            opened.push(t=EVENTS)
            opened.finish()
    except CepheidError:
        return NO
    return "changes" if any(issubclass(each.category, RowsAtTheEndWarning) for each in caught) else "kernel"


def choose_example(name: str, known: Mapping[str, str], template: str) -> str:
    if name in known:
        return known[name]
    tried = [each.replace("{f}", name.lower()) for each in examples.DEFAULTS]
    found = next((each for each in tried if is_taken(template.format(qualify(each, "")))), None)
    assert found is not None, f"give {name} an example in tests/docs/function_examples.py"
    return found


# --- places -----------------------------------------------------------------------------------------------


def try_scalar(name: str, example: str) -> list[str]:
    together = example.format(**TOGETHER)
    line = find_function(name, "trino")
    several = "DuckDB" if line is None or line.evaluator == "duckdb" else "kernel"
    return [
        "host" if is_taken(PATTERN.format("b.n", f"({qualify(example, 'b.')}) IS NOT NULL")) else NO,
        several if is_taken(PATTERN.format("b.n", f"({together}) IS NOT NULL")) else NO,
        "host" if is_taken(PATTERN.format(qualify(example, "b."), "TRUE")) else NO,
        "host" if is_taken(f"SELECT {qualify(example, '')} AS r FROM t") else NO,
    ]


def try_aggregate(_: str, example: str) -> list[str]:
    whole = example == "count(*)"
    elements = "count(b[])" if whole else qualify(example, "b[].")
    plain = qualify(example, "")
    over = f"SELECT {plain} {FRAME} AS r FROM t"
    in_match = (
        is_taken(PATTERN.format("b.n", f"({qualify(example, 'b.')}) IS NOT NULL")),
        is_taken(PATTERN.format(qualify(example, "b."), "TRUE")),
        is_taken(f"SELECT {elements} AS r FROM PATTERN SEQ(t a, t+ b[]) WITHIN 1 h"),
    )
    return [
        *("kernel" if taken else NO for taken in in_match),
        try_continuously(f"SELECT {plain} AS r FROM t [ROWS 2]"),
        try_continuously(over),
        "host" if is_taken(over) else NO,
        "host" if is_taken(f"SELECT k, {plain} AS r FROM t GROUP BY k") else NO,
    ]


def try_navigation(_: str, example: str) -> list[str]:
    return [
        "kernel" if is_taken(PATTERN.format("b.n", f"({example}) IS NOT NULL")) else NO,
        "kernel" if is_taken(PATTERN.format(example, "TRUE")) else NO,
    ]


def try_ranking(_: str, example: str) -> list[str]:
    over = f"SELECT {example} OVER (ORDER BY ts) AS r FROM t"
    return [
        "host" if is_taken(over) else NO,
        try_continuously(over),
        "kernel" if is_taken(IN_WINDOW.format(example)) else NO,
    ]


# --- the page ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """Which lines are tried: every one, or every so many; the others, if they are there, stay as the page has them."""

    every: int = 1
    known: frozenset[str] = frozenset()

    def write_table(self, heads: tuple[str, ...], names: Mapping[str, str], attempt: Attempt) -> str:
        lines = [f"| {' | '.join(('function', 'for example', *heads))} |", "|---" * (len(heads) + 2) + "|"]
        for number, (name, example) in enumerate(names.items()):
            start = f"| `{name}` | `{qualify(example, '')}` |".replace("||", "\\|\\|")
            columns = len(heads) + 2
            kept = next(
                (line for line in self.known if line.startswith(start) and line.count(" | ") == columns - 1), None
            )
            is_tried = kept is None or number % self.every == 0
            lines.append(f"{start} {' | '.join(attempt(name, example))} |" if is_tried else kept or "")
        return "\n".join(lines)


MATCH_PLACES = ("condition (DEFINE)", "MEASURES")
OVER_PLACES = ("tables", "continuous", "over a row pattern in WINDOW")
SCALAR_PLACES = ("condition of one event", "of several events", "MEASURES", "SELECT, WHERE, ...")
AGGREGATE_PLACES = (
    "condition of a pattern", "MEASURES", "SEQ: `b[].x`", "window `[ROWS 2]`", "OVER, continuous", "OVER, tables",
    "GROUP BY, tables",
)  # fmt: skip


def find_aggregates() -> dict[str, str]:
    found = dict(examples.SPELT)
    for definition in AGGREGATES:
        for name in definition.sql_names:
            example = choose_example(name, examples.AGGREGATES, "SELECT {} AS r FROM t [ROWS 2]")
            found[name.lower()] = example
    return dict(sorted(found.items()))


def find_scalars() -> dict[str, str]:
    names = sorted({name for line in FUNCTIONS for name in line.trino})
    return {name: choose_example(name, examples.SCALARS, "SELECT {} AS r FROM t") for name in names}


OF_DIALECTS: dict[str, Mapping[str, Callable[..., object]]] = {
    "trino": {**null_habits.TRINO, **trino_functions.FUNCTIONS},
    "flink": flink_functions.FUNCTIONS,
    "risingwave": risingwave_functions.FUNCTIONS,
    "duckdb": null_habits.DUCKDB,
    "spark": {**dict.fromkeys(spark_functions.SAME, str), **spark_functions.OWN},
}


def write_dialects() -> str:
    """By dialect: the functions that it reads in its own way, and those that it refuses."""
    lines = []
    for dialect, functions in OF_DIALECTS.items():
        refused = {name for name, build in functions.items() if build.__qualname__.startswith("_refuse.")}
        own = ", ".join(f"`{name.lower()}`" for name in sorted(set(functions) - refused))
        others = ", ".join(f"`{name.lower()}`" for name in sorted(refused)) or "none"
        lines.append(f"| `{dialect}` | {own} | {others} |")
    return "\n".join([DIALECTS_HEAD, "| dialect | read as it has them | refused by name |", "|---|---|---|", *lines])


DIALECTS_HEAD = """With `dialect=`, these are read as that system has them, and then computed as above. In `spark`, over
Arrow tables and in `cep.open`, other functions of Spark SQL are refused; in the others they are Trino's, or DuckDB's
(`risingwave`: PostgreSQL's). Window functions in `FROM` and `GROUP BY` (`TUMBLE`, `HOP`, `CUMULATE`, `SESSION`,
`window`, `session_window`, with `_START`, `_END`, `_ROWTIME`, `window_time`) and `PROCTIME()` are there in each
([dialects](dialects.md)).
"""


def write_page(trial: Trial) -> str:
    spark = sorted({name for line in FUNCTIONS for name in line.spark})
    host = {name.lower(): example for name, example in examples.HOST_AGGREGATES.items()}
    parts = {
        "Functions of a match": trial.write_table(MATCH_PLACES, examples.NAVIGATION, try_navigation),
        "Aggregates": trial.write_table(AGGREGATE_PLACES, find_aggregates(), try_aggregate),
        "Aggregates of the host": trial.write_table(AGGREGATE_PLACES, host, try_aggregate)
        + "\n\nOne's own: `cep.Aggregate`, in all of these places.",
        "Functions with OVER": trial.write_table(OVER_PLACES, examples.RANKING, try_ranking),
        "Scalar functions of the kernel": trial.write_table(SCALAR_PLACES, find_scalars(), try_scalar)
        + f"\n\nIn Spark's dialect, over several events: {', '.join(f'`{name}`' for name in spark)}.",
    }
    for title, group in examples.HOST_SCALARS.items():
        parts[title] = trial.write_table(SCALAR_PLACES, group, try_scalar)
    parts["Functions of the dialects"] = write_dialects()
    return "\n\n".join([HEAD, *(f"## {title}\n\n{table}" for title, table in parts.items())]) + "\n"


HEAD = """# Where each function runs

Does it exist, and where may it stand? Each line was tried over Arrow tables and in `cep.open`, and says what ran:
computed by the **kernel** (the same on every host), by the **host** (DuckDB here, Spark SQL on Spark; one event at a
time), by **DuckDB** beside the match, by the host over all that came so far (**changes**: rows may change until the
end), or refused with a hint (-). What each one means is in [functions](functions.md),
[patterns](patterns.md) and [windows](windows.md).

Every other function of the host runs, too, wherever *host* stands below for its kind: in conditions of one event, in
`MEASURES`, and in whatever is around a pattern or a window (`SELECT`, `WHERE`, `HAVING`, joins). On Spark these are
Spark SQL's functions. `make golden` writes this page."""
