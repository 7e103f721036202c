"""Queries of a live session come and go; each gives the rows that it would give alone, push by push."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from random import Random
from typing import Any

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pyarrow as pa
import pytest
from random_events import SCHEMA, make_events
from random_windows import make_window_case

import cepheid as cep
from cepheid.testing.compare_rows import assert_same_rows

CASES = 60
STEPS = 24
PATTERNS = (
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(a.i) AS x, LAST(b.f) AS y, "
        "MATCH_NUMBER() AS n PATTERN (a b+) WITHIN INTERVAL '4' SECOND DEFINE b AS b.i > PREV(b.i) OR b.flag)"
    ),
    (
        "SELECT a.ts AS t, b.w AS w FROM PATTERN SEQ(s a, t b) ORDER BY ts WHERE a.k = b.k AND a.i > 0 "
        "WITHIN INTERVAL '3' SECOND"
    ),
    (
        "SELECT count(*) AS c FROM (SELECT n FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        "MEASURES LAST(b.ts) AS n PATTERN (a b) DEFINE b AS b.i >= a.i)) [RANGE 3 SECONDS]"
    ),
    (
        "SELECT n FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(b.ts) AS n "
        "PATTERN (a b) DEFINE b AS b.i >= a.i)"
    ),
    "SELECT k, i FROM s WHERE i > 0",
    "SELECT i, k AS other FROM s WHERE i > 0 AND flag",
    "SELECT k, avg(i) AS m FROM s [ORDER BY ts RANGE 2 SECONDS] GROUP BY k",
    # the same state under other names
    "SELECT avg(i) AS mean, k AS key FROM s [ORDER BY ts RANGE 2 SECONDS] AS x GROUP BY k",
)


def list_texts() -> list[str]:
    made = [make_window_case(seed).text for seed in range(60)]
    return [*PATTERNS, *PATTERNS, *PATTERNS, *dict.fromkeys(made)]


TEXTS = list_texts()


class Alone:
    """A query of the session, run by itself from the same moment on."""

    def __init__(self, text: str, before: bytes | None = None) -> None:
        self.text = text
        self.query: Any = cep.open(text, s=SCHEMA, t=SCHEMA, snapshot=before, on_change="restart")

    def push(self, batches: dict[str, pa.Table]) -> pa.Table:
        return self.query.push(**batches)


def change(random: Random, session: cep.Session, alone: dict[str, Alone], number: int) -> None:
    kind = random.choice(("deploy", "deploy", "deploy", "alter", "retire", "scale", "move"))
    if kind == "deploy" or not alone:
        text = random.choice([*TEXTS, *(each.text for each in alone.values())])
        session.deploy(f"q{number}", text)
        alone[f"q{number}"] = Alone(text)
        return
    name = random.choice(list(alone))
    if kind == "alter":
        text = random.choice([*TEXTS, alone[name].text])
        session.alter(name, text)
        alone[name] = Alone(text, alone[name].query.snapshot())
    elif kind == "retire":
        session.retire(name)
        del alone[name]
    elif kind == "scale":
        session.apply(cep.Scale(engines=random.randint(1, 8), query=random.choice((name, ""))))
    else:
        move_groups(random, session, name)


def move_groups(random: Random, session: cep.Session, name: str) -> None:
    """Some key groups of a vertex that has several engines go to another one."""
    for vertex in {each.vertex for each in session.observe().vertices if each.query == name}:
        owners = session.owners(name, vertex)
        if owners:
            groups = tuple(random.sample(range(len(owners)), 20))
            session.apply(cep.MoveGroups(query=name, vertex=vertex, groups=groups, engine=random.choice(owners)))


def restart(session: cep.Session, alone: dict[str, Alone]) -> cep.Session:
    again = cep.Session(snapshot=session.snapshot())
    session.close()
    again.source("s", SCHEMA)
    again.source("t", SCHEMA)
    for name, each in alone.items():
        again.deploy(name, each.text)
    assert set(again.restored.kept) == set(alone)
    return again


@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.filterwarnings("ignore")
def test_other_queries_come_and_go_unnoticed(seed: int) -> None:
    random = Random(seed)
    tables = {name: make_events(seed + shift, 60, keys=3, gaps=(0, 1)) for name, shift in (("s", 0), ("t", 999))}
    at = dict.fromkeys(tables, 0)
    session = cep.Session()
    session.source("s", SCHEMA)
    session.source("t", SCHEMA)
    alone: dict[str, Alone] = {}
    for number in range(STEPS):
        if random.random() < 0.45:
            change(random, session, alone, number)
            continue
        if random.random() < 0.05:
            session = restart(session, alone)
            continue
        batches = {}
        for name in random.sample(list(tables), random.randint(1, 2)):
            count = random.randint(0, 8)
            batches[name] = tables[name].slice(at[name], count)
            at[name] += count
        rows = session.push(**batches)
        assert set(rows) == set(alone)
        for name, each in alone.items():
            assert_same_rows(rows[name], each.push(batches), f"{name}: {each.text}")
    rows = session.finish()
    for name, each in alone.items():
        assert_same_rows(rows[name], each.query.finish(), f"{name}, at the end: {each.text}")


def test_warnings_are_not_lost() -> None:
    """The filter above hides what other tests look at: a query without bounds warns in a session as well."""
    session = cep.Session()
    session.source("s", SCHEMA)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session.deploy("q", "SELECT a.ts FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.k = b.k")
    assert [each.category.__name__ for each in caught] == ["UnboundedStateWarning"]
