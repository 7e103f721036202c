"""Who a vertex is: digests do not depend on order, names, company or process; what is learned is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import Compilation, add_query, compile_query
from cepheid.errors import EmptyStateWarning, SnapshotMismatch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.node import EngineNode
from cepheid.hosts import EMBEDDED, SPARK_STREAMS, HostTraits
from cepheid.language.catalog import Catalog

SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("id", pa.int64()), ("a", pa.float64()), ("b", pa.float64())])
WINDOW = "SELECT id, avg(a) AS m FROM s [ROWS 10] WHERE a > 1 AND b < 5 GROUP BY id"
PATTERN = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(x.a) AS v
    PATTERN (x y+) WITHIN INTERVAL '5' SECOND DEFINE y AS y.a > x.a AND y.b < 3, x AS x.b > 1)"""
SEQUENCE = """SELECT a.ts AS t, b.a AS v FROM PATTERN SEQ(s a, t b)
    WHERE a.id = b.id AND a.a = b.a AND a.b > 3 AND b.b < a.b WITHIN INTERVAL '5' SECOND"""
JOIN = "SELECT x.id, y.a FROM s [ROWS 5] AS x, t [RANGE 1 MINUTE] AS y WHERE x.id = y.id AND x.a < y.a AND x.b > 0"
NESTED = "SELECT sum(v) AS w FROM (SELECT a + b AS v, ts FROM s WHERE id = 7) [RANGE 1 MINUTE]"

SAME = [
    (WINDOW, "SELECT   id, AVG(a) AS other -- a comment\nFROM s [ROWS 10]\nWHERE b < 5 AND a > 1 GROUP BY id"),
    (WINDOW, "SELECT z.id AS k, avg(z.a) AS m FROM s [ROWS 10] AS z WHERE 5 > z.b AND (z.a > 1) GROUP BY z.id"),
    (PATTERN, PATTERN.replace("x.", "p.").replace("(x y+)", "(p y+)").replace("x AS", "p AS")),
    (PATTERN, PATTERN.replace("y.a > x.a AND y.b < 3", "y.b < 3 AND x.a < y.a").replace("AS v", "AS w")),
    (SEQUENCE, """SELECT c.ts AS began, d.a AS v FROM PATTERN SEQ(s c, t d)
        WHERE d.b < c.b AND c.b > 3 AND d.a = c.a AND c.id = d.id WITHIN INTERVAL '5' SECOND"""),
    (JOIN, ("SELECT l.id AS i, r.a FROM s [ROWS 5] AS l, t [RANGE 60 SECONDS] AS r "
           "WHERE l.b > 0 AND r.a > l.a AND r.id = l.id")),
    (NESTED, "WITH c AS (SELECT ts, a + b AS u FROM s WHERE 7 = id) SELECT sum(u) AS w FROM c [RANGE 1 MINUTE]"),
    (NESTED, "SELECT sum(a + b) AS w FROM (SELECT * FROM s WHERE id = 7) [RANGE 1 MINUTE]"),
]  # fmt: skip
DIFFERENT = [
    (WINDOW, WINDOW.replace("ROWS 10", "ROWS 11")),
    (WINDOW, WINDOW.replace("a > 1", "a > 2")),
    (WINDOW, WINDOW.replace("avg(a)", "avg(b)")),
    (WINDOW, WINDOW.replace("FROM s", "FROM t")),
    (PATTERN, PATTERN.replace("y.a > x.a", "y.a >= x.a")),
    (PATTERN, PATTERN.replace("AS v", "AS v, CLASSIFIER() AS c")),
    (SEQUENCE, SEQUENCE.replace("SEQ(s a, t b)", "SEQ(t a, s b)")),
    (JOIN, JOIN.replace("x.id = y.id AND", "")),
    (NESTED, NESTED.replace("id = 7", "id = 8")),
    (NESTED, NESTED.replace("a + b AS v", "a - b AS v")),
    (WINDOW, WINDOW.replace("a > 1 AND b < 5", "a > 1 OR b < 5")),
    (WINDOW.replace("a > 1", "a > b"), WINDOW.replace("a > 1", "b > a")),  # mirrored, and not the same
    (WINDOW.replace("a > 1", "a - b > 1"), WINDOW.replace("a > 1", "b - a > 1")),
    (SEQUENCE.replace("b.b < a.b", "b.b - a.b < 1"), SEQUENCE.replace("b.b < a.b", "a.b - b.b < 1")),
    (
        JOIN.replace(", t [", " LEFT JOIN t [").replace("WHERE", "ON"),
        JOIN.replace(", t [", " RIGHT JOIN t [").replace("WHERE", "ON"),
    ),
    (
        JOIN.replace("t [RANGE 1 MINUTE]", "s [ROWS 6]"),
        JOIN.replace("ROWS 5", "ROWS 6").replace("t [RANGE 1 MINUTE]", "s [ROWS 5]"),
    ),
]


def compile_all(queries: dict[str, str], host: HostTraits = EMBEDDED) -> Compilation:
    return compile_query(queries, Catalog({"s": SCHEMA, "t": SCHEMA}, describe_sql, frozenset("st")), host)


def stateful(compilation: Compilation, query: str) -> list[str]:
    """The digests of the vertices of a query that remember."""
    graph, labels = compilation.placed.graph, compilation.labels[query]
    return sorted({graph.digests[label] for label in labels.values() if isinstance(graph.vertices[label], EngineNode)})


@pytest.mark.parametrize("host", [EMBEDDED, SPARK_STREAMS], ids=["embedded", "spark"])
@pytest.mark.parametrize(("written", "other"), SAME)
def test_what_says_nothing_does_not_change_identity(written: str, other: str, host: HostTraits) -> None:
    first, second = compile_all({"q": written}, host), compile_all({"q": other}, host)
    assert stateful(first, "q") == stateful(second, "q")


@pytest.mark.parametrize(("written", "other"), DIFFERENT)
def test_what_changes_the_rows_changes_identity(written: str, other: str) -> None:
    assert stateful(compile_all({"q": written}), "q") != stateful(compile_all({"q": other}), "q")


def make_queries(seed: int, count: int) -> dict[str, str]:
    random = Random(seed)
    texts = [text for pair in (*SAME, *DIFFERENT) for text in pair]
    made = [text.replace("5", str(random.randint(5, 9))) for text in (random.choice(texts) for _ in range(count))]
    return {f"q{number}": text for number, text in enumerate(made)}


@pytest.mark.parametrize("seed", range(20))
def test_digests_do_not_depend_on_order_names_or_company(seed: int) -> None:
    random = Random(seed)
    queries = make_queries(seed, 6)
    together = compile_all(queries)
    shuffled = {f"other_{name}": queries[name] for name in random.sample(list(queries), 4)}
    others = compile_all(shuffled)
    for name in shuffled:
        own = name.removeprefix("other_")
        assert stateful(others, name) == stateful(together, own) == stateful(compile_all({"x": queries[own]}), "x")


@pytest.mark.parametrize("seed", range(5))
def test_a_query_added_later_is_as_if_it_had_always_been_there(seed: int) -> None:
    queries = make_queries(seed, 5)
    catalog = Catalog({"s": SCHEMA, "t": SCHEMA}, describe_sql, frozenset("st"))
    *first, last = queries
    grown = add_query(compile_query({name: queries[name] for name in first}, catalog), last, queries[last], catalog)
    whole = compile_query(queries, catalog)
    assert grown.placed.graph.vertices == whole.placed.graph.vertices
    assert set(grown.placed.graph.edges) == set(whole.placed.graph.edges)
    assert grown.placed.places == whole.placed.places


def test_digests_are_the_same_in_every_process() -> None:
    queries = make_queries(3, 12)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_identity as own;"
        "made = own.compile_all(own.make_queries(3, 12));"
        "print(sorted((name, *own.stateful(made, name)) for name in made.queries))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    here = compile_all(queries)
    assert told[0] == told[1] == f"{sorted((name, *stateful(here, name)) for name in here.queries)}\n"


# --- snapshots: what a user sees -------------------------------------------------------------------------


def push(query: object, start: int, values: list[float]) -> object:
    times = pa.array([start + number for number in range(len(values))], pa.int64()).cast(pa.timestamp("s"))
    table = pa.table({"ts": times.cast(pa.timestamp("us")), "id": [1] * len(values), "a": values, "b": values})
    return query.push(s=table, t=table.slice(0, 0))  # type: ignore[attr-defined]


AVERAGE = "SELECT avg(a) AS m FROM s [ROWS 3]"
GREATEST = "SELECT max(a) AS m FROM s [ROWS 4]"


def test_a_changed_query_is_refused_by_naming_what_changed() -> None:
    query = cep.open({"mean": AVERAGE, "most": GREATEST}, s=SCHEMA, t=SCHEMA)
    push(query, 0, [1.0, 2.0, 3.0, 4.0])
    changed = {"mean": AVERAGE.replace("3", "5"), "most": GREATEST}
    with pytest.raises(SnapshotMismatch) as caught:
        cep.open(changed, s=SCHEMA, t=SCHEMA, snapshot=query.snapshot())
    told = str(caught.value)
    assert 'query "mean" has changed' in told
    assert "[ROWS 5]" in told, "what it is"
    assert "[ROWS 3]" in told, "what it was"
    assert 'on_change="restart"' in told, "what may be done"


def test_a_changed_query_restarts_and_others_keep_their_state() -> None:
    query = cep.open({"mean": AVERAGE, "most": GREATEST}, s=SCHEMA, t=SCHEMA)
    push(query, 0, [1.0, 2.0, 3.0, 40.0])
    changed = {"most": GREATEST, "mean": AVERAGE.replace("3", "5")}
    again = cep.open(changed, s=SCHEMA, t=SCHEMA, snapshot=query.snapshot(), on_change="restart")
    assert (again.restored.kept, again.restored.restarted) == (("most",), ("mean",))
    rows = push(again, 10, [6.0])
    assert rows["most"].to_pylist() == [{"m": 40.0}]  # type: ignore[index]
    assert rows["mean"].to_pylist() == [{"m": 6.0}]  # type: ignore[index]


def test_a_new_query_begins_empty_and_that_is_reported() -> None:
    query = cep.open({"mean": AVERAGE}, s=SCHEMA, t=SCHEMA)
    push(query, 0, [1.0, 2.0, 3.0])
    with pytest.warns(EmptyStateWarning, match="begin empty: most"):
        again = cep.open({"mean": AVERAGE, "most": GREATEST}, s=SCHEMA, t=SCHEMA, snapshot=query.snapshot())
    assert (again.restored.kept, again.restored.empty) == (("mean",), ("most",))
    rows = push(again, 10, [-6.0])
    assert rows["mean"].to_pylist() == [{"m": (2.0 + 3.0 - 6.0) / 3}]  # type: ignore[index]
    assert rows["most"].to_pylist() == [{"m": -6.0}]  # type: ignore[index]


def test_state_survives_other_names_for_outputs_columns_and_queries() -> None:
    text = "SELECT v.p AS m FROM (SELECT avg(x) AS p FROM (SELECT a AS x, ts FROM s) [ROWS 3]) AS v"
    query = cep.open({"mean": text}, s=SCHEMA, t=SCHEMA)
    push(query, 0, [1.0, 2.0, 3.0])
    renamed = "SELECT w.q AS n FROM (SELECT avg(y) AS q FROM (SELECT ts, a AS y FROM s) [ROWS 3]) AS w"
    again = cep.open({"average": renamed}, s=SCHEMA, t=SCHEMA, snapshot=query.snapshot())
    assert (again.restored.kept, again.restored.dropped) == (("average",), ("mean",))
    assert push(again, 10, [7.0])["average"].to_pylist() == [{"n": 4.0}]  # type: ignore[index]


def test_a_column_of_a_wider_type_takes_the_state_and_another_type_is_refused() -> None:
    narrow = pa.schema([("ts", pa.timestamp("us")), ("n", pa.int32())])
    text = "SELECT max(n) AS m FROM s [ROWS 3]"
    query = cep.open(text, s=narrow)
    query.push(s=pa.table({"ts": pa.array([0], pa.timestamp("us")), "n": pa.array([7], pa.int32())}))
    wider = pa.schema([("ts", pa.timestamp("us")), ("n", pa.int64())])
    again = cep.open(text, s=wider, snapshot=query.snapshot())
    assert again.push(s=pa.table({"ts": pa.array([5], pa.timestamp("us")), "n": [3]})).to_pylist() == [{"m": 7}]
    with pytest.raises(SnapshotMismatch):
        cep.open(text, s=pa.schema([("ts", pa.timestamp("us")), ("n", pa.string())]), snapshot=query.snapshot())
