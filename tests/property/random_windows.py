"""Random queries over windows and joins, and the events for them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pyarrow as pa
from random_events import make_events

EXACT = (
    "count(*)", "count(i)", "sum(i)", "min(f)", "max(f)", "min(w)", "max(at)", "count(DISTINCT s)", "count(DISTINCT f)",
    "first(w)", "last(i)", "min_by(w, i)", "max_by(i, f)", "max(i, 2)", "min(w, 2)", "array_agg(i)", "bool_and(flag)",
    "count_if(i > 0)", "sum(i) FILTER (WHERE flag)", "percentile_disc(0.3) WITHIN GROUP (ORDER BY i)", "sum(i * 2 + k)",
)  # fmt: skip
ROUNDED = ("avg(i)", "avg(f)", "sum(f)", "stddev(i)", "var_pop(f)", "median(i)", "quantile_cont(f, 0.9)", "variance(f)")
OUTPUTS = (
    "",
    "",
    "",
    " OUTPUT ON EVENT",
    " OUTPUT ON EXPIRY",
    " OUTPUT ON CLOSE",
    " OUTPUT EVERY 3 SECONDS",
    " OUTPUT EVERY 3 EVENTS",
)
CONDITIONS = ("i > 0", "flag", "f < 2 OR flag", "w <> 'a'", "i IS NULL")


@dataclass(frozen=True)
class WindowCase:
    text: str
    tables: dict[str, pa.Table]


def make_window_case(seed: int) -> WindowCase:
    random = Random(seed)
    if seed % 5 == 4:
        return _make_join(random, seed)
    tables = {"s": _make_table(random, seed)}
    return WindowCase(_nest(random) if random.random() < 0.1 else _select(random, "s"), tables)


def _make_table(random: Random, seed: int) -> pa.Table:
    count = random.choice((0, 1, 7, 30, 60))
    gaps = random.choice(((0, 1), (0, 1, 2), (1,), (0, 0, 1, 40), (3, 5)))
    return make_events(seed, count, keys=random.choice((1, 2, 4)), gaps=gaps, null_orders=random.random() < 0.2)


def _window(random: Random) -> str:
    keys = random.choice(("", "", "PARTITION BY k ", "PARTITION BY k, s "))
    match random.choice(("rows", "rows", "range", "range", "session", "semantic", "landmark")):
        case "rows":
            size = random.choice((1, 2, 3, 5, 20))
            slide = random.choice(("", "", " SLIDE 1", f" SLIDE {size}", f" SLIDE {max(1, size // 2)}"))
            extent = f"ROWS {size}{slide}"
        case "range":
            size = random.choice((1, 2, 4, 6, 30))
            slide = random.choice(("", "", f" SLIDE {size} SECONDS", f" SLIDE {max(1, size // 2)} SECONDS"))
            extent = f"RANGE {size} SECONDS{slide}"
        case "session":
            extent = f"SESSION {random.choice((1, 2, 4))} SECONDS"
        case "semantic":
            closes = random.choice((" UNTIL flag", " UNTIL i < 0", ""))
            slide = random.choice(("", "", " SLIDE 1", " SLIDE 2")) if closes else ""
            extent = f"FROM i > 0{closes}{slide}"
        case _:
            extent = random.choice(("ROWS UNBOUNDED", "RANGE UNBOUNDED"))
    return f"[{keys}ORDER BY ts {extent}]"


def _aggregates(random: Random) -> list[str]:
    chosen = random.sample(EXACT, random.randint(1, 3)) + [
        f"round({each}, 6)" for each in random.sample(ROUNDED, random.randint(0, 2))
    ]
    return [f"{each} AS a{number}" for number, each in enumerate(chosen)]


def _select(random: Random, source: str) -> str:
    window, output = _window(random), random.choice(OUTPUTS)
    where = f" WHERE {random.choice(CONDITIONS)}" if random.random() < 0.25 else ""
    changes = random.choice(("", "", "", "ISTREAM ", "DSTREAM ", "RSTREAM "))
    if random.random() < 0.25:
        return f"SELECT {changes}ts, i, w FROM {source} {window}{where}{output}"
    groups = random.choice(([], ["k"], ["s"], ["k", "s"], ["i % 2"]))
    outputs = [f"{group} AS g{number}" for number, group in enumerate(groups)] + _aggregates(random)
    if changes in ("ISTREAM ", "DSTREAM "):  # rows are compared there, lists are not
        outputs = [each for each in outputs if "array_agg" not in each and ", 2)" not in each] or ["count(*) AS a0"]
    elif random.random() < 0.3:
        outputs += ["window_start", "window_end"]
    grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
    having = " HAVING count(*) > 1" if random.random() < 0.2 else ""
    order = ""
    if not changes and groups and random.random() < 0.2:
        order = " ORDER BY count(*) DESC, g0 LIMIT 1" if len(groups) == 1 else ""
    return f"SELECT {changes}{', '.join(outputs)} FROM {source} {window}{where}{grouped}{having}{order}{output}"


def _nest(random: Random) -> str:
    keys = random.choice(("", "PARTITION BY k "))
    inner = f"SELECT sum(i) AS a, count(i) AS c FROM s [{keys}ORDER BY ts RANGE 2 SECONDS] OUTPUT EVERY 2 SECONDS"
    return f"SELECT sum(a) AS a, sum(c) AS c FROM ({inner}) [RANGE {random.choice((4, 6, 20))} SECONDS]"


def _make_join(random: Random, seed: int) -> WindowCase:
    tables = {"s": _make_table(random, seed), "t": _make_table(random, seed + 1_000_000)}
    sides = [f"[{_join_window(random)}]" for _ in range(2)]
    keys = random.choice((["x.k = y.k"], ["x.k = y.k"], ["x.k = y.k", "x.s = y.s"], []))
    parts = keys + random.choice(([], [], ["x.i < y.i"], ["x.f < y.f OR y.flag"]))
    condition = " AND ".join(parts) or "x.i = y.i + 1"
    outputs = "x.ts AS xt, y.ts AS yt, x.i, y.i AS j, x.w, y.w AS v"
    kind = random.choice(("", "", "LEFT", "RIGHT", "FULL"))
    if kind:
        source = f"s {sides[0]} AS x {kind} JOIN t {sides[1]} AS y ON {condition}"
        return WindowCase(f"SELECT {outputs} FROM {source}", tables)
    return WindowCase(f"SELECT {outputs} FROM s {sides[0]} AS x, t {sides[1]} AS y WHERE {condition}", tables)


def _join_window(random: Random) -> str:
    extent = random.choice(("ROWS 1", "ROWS 3", "ROWS 20", "RANGE 2 SECONDS", "RANGE 5 SECONDS", "RANGE UNBOUNDED"))
    return f"{random.choice(('', '', 'PARTITION BY k '))}ORDER BY ts {extent}"
