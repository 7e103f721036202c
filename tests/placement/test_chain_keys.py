"""By which columns of its streams a chain may be split, and why not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cepheid.compiler import compile_query
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.operators import Sink
from cepheid.language.catalog import Catalog
from cepheid.placement.chain_keys import ChainKeys, find_chain_keys

SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("s", pa.string()), ("i", pa.int64())])
FLOATS = SCHEMA.set(1, pa.field("k", pa.float64()))


def find_keys(text: str, updating: bool = False, **schemas: pa.Schema) -> ChainKeys:
    known = {"s": SCHEMA, "t": SCHEMA, **schemas}
    catalog = Catalog(known, describe_sql, streams=frozenset(known), updating=updating)
    graph = compile_query(text, catalog).placed.graph
    (sink,) = [vertex for vertex, node in graph.vertices.items() if isinstance(node, Sink)]
    return find_chain_keys(graph, sink, known)


def match(source: str, keys: str, time: str, measures: str = "LAST(b.i) AS i") -> str:
    return (
        f"SELECT * FROM {source} MATCH_RECOGNIZE (PARTITION BY {keys} ORDER BY {time} "
        f"MEASURES LAST(b.{time}) AS t2, {measures} PATTERN (a b) DEFINE b AS b.i > a.i)"
    )


def test_one_vertex_is_split_by_its_keys() -> None:
    found = find_keys(match("s", "k, s", "ts"))
    assert found.columns == {"s": ("k", "s")}
    assert found.keys == {"row_pattern_1": (0, 1)}
    assert found.cells == {}


def test_pattern_over_a_pattern_is_split_by_the_key_that_both_have() -> None:
    found = find_keys(match(f"({match('s', 'k', 'ts')})", "k", "t2"))
    assert found.columns == {"s": ("k",)}
    assert found.keys == {"row_pattern_1": (0,), "row_pattern_2": (0,)}
    assert found.cells == {"row_pattern_1": ("_c0",)}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT at, max(n) AS n FROM {counted} AS w GROUP BY at",
        "SELECT t.i, w.n FROM t LEFT JOIN {counted} AS w ON t.i = w.n",
        "SELECT n + 1 AS more FROM (SELECT DISTINCT n FROM {counted} AS w) AS d",
    ],
)
def test_results_that_change_see_the_rows_of_all_keys(text: str) -> None:
    """They were split by the keys of the windows that they read, and gave a part of their rows."""
    counted = "(SELECT k, count(*) AS n, max(ts) AS at FROM s [PARTITION BY k ORDER BY ts ROWS 2] GROUP BY k)"
    assert find_keys(f"SELECT k, n FROM {counted}").columns == {"s": ("k",)}
    found = find_keys(text.format(counted=counted), updating=True)
    assert found.columns == {}
    assert "sees all rows at once" in found.why


def test_upper_vertex_may_have_fewer_keys_and_in_another_order() -> None:
    lower = match("s", "k, s", "ts")
    assert find_keys(match(f"({lower})", "s", "t2")).columns == {"s": ("s",)}
    found = find_keys(match(f"({lower})", "s, k", "t2"))
    assert found.columns == {"s": ("k", "s")}
    assert found.keys == {"row_pattern_1": (0, 1), "row_pattern_2": (1, 0)}


def test_window_over_a_window_is_traced_through_its_groups() -> None:
    lower = (
        "SELECT k, sum(i) AS a FROM s [PARTITION BY k ORDER BY ts RANGE 2 SECONDS] GROUP BY k OUTPUT EVERY 2 SECONDS"
    )
    upper = f"SELECT k, sum(a) AS a FROM ({lower}) [PARTITION BY k RANGE 4 SECONDS] GROUP BY k"
    assert find_keys(upper).columns == {"s": ("k",)}


def test_all_streams_of_a_sequence_are_split_by_their_own_columns() -> None:
    lower = (
        "SELECT a.k AS k, b.ts AS ts, b.i AS i FROM PATTERN SEQ(s a, t b) ORDER BY ts WHERE a.k = b.i "
        "WITHIN INTERVAL '3' SECOND"
    )
    found = find_keys(match(f"({lower})", "k", "ts"))
    assert found.columns == {"s": ("k",), "t": ("i",)}


def test_stream_read_twice_must_be_read_by_one_column() -> None:
    join = "SELECT x.k AS k, y.i AS i FROM s [ORDER BY ts RANGE 2 SECONDS] AS x, s [ORDER BY ts RANGE 2 SECONDS] AS y"
    assert find_keys(f"{join} WHERE x.k = y.k").columns == {"s": ("k",)}
    found = find_keys(f"{join} WHERE x.k = y.i")
    assert not found.columns
    assert "none of its keys" in found.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (match(f"({match('s', 'k', 'ts')})", "i", "t2", "LAST(b.k) AS q"), "row_pattern_2: none of its keys"),
        (match(f"({match('s', 'k', 'ts', 'b.i AS i, LAST(b.k) + 0 AS q')})", "q", "t2"), "row_pattern_2: none of its"),
        ("SELECT count(*) AS n FROM s [ORDER BY ts ROWS 5]", "it has no keys"),
        (
            "SELECT x.k FROM s [ORDER BY ts ROWS 5] AS x, t [ORDER BY ts ROWS 5] AS y WHERE x.k = y.k",
            "counts the events",
        ),
    ],
)
def test_what_cannot_be_split_says_why(text: str, why: str) -> None:
    found = find_keys(text)
    assert not found.columns
    assert why in found.why


def test_copy_that_may_be_null_is_no_key() -> None:
    lower = (
        "SELECT b.k AS k, c.k AS l, a.ts AS ts, a.i AS i FROM PATTERN SEQ(s a, (t b | t c)) ORDER BY ts "
        "WHERE a.k = b.k AND a.k = c.k WITHIN INTERVAL '3' SECOND"
    )
    assert not find_keys(match(f"({lower})", "k", "ts")).columns
    join = (
        "SELECT {side}.k AS k, x.ts AS ts, x.i AS i FROM s [ORDER BY ts RANGE 2 SECONDS] AS x LEFT JOIN "
        "t [ORDER BY ts RANGE 2 SECONDS] AS y ON x.k = y.k"
    )
    upper = "SELECT k, count(*) AS n FROM ({lower}) [PARTITION BY k RANGE 4 SECONDS] GROUP BY k"
    assert find_keys(upper.format(lower=join.format(side="x"))).columns == {"s": ("k",), "t": ("k",)}
    assert not find_keys(upper.format(lower=join.format(side="y"))).columns


def test_streams_under_one_another_must_hash_alike() -> None:
    both = "SELECT ts, k, i FROM s UNION ALL SELECT ts, k, i FROM t"
    text = f"SELECT k, sum(i) AS a FROM ({both}) [PARTITION BY k ORDER BY ts RANGE 2 SECONDS] GROUP BY k"
    assert find_keys(text).columns == {"s": ("k",), "t": ("k",)}
    assert not find_keys(text, t=FLOATS).columns


def test_sql_above_the_engines_does_not_matter() -> None:
    assert find_keys(f"SELECT k + 1 AS k, i FROM ({match('s', 'k', 'ts')}) WHERE i > 3").columns == {"s": ("k",)}


def test_what_is_kept_up_to_date_above_the_engines_sees_all_rows() -> None:
    """Each engine had a maximum of its own."""
    found = find_keys(f"SELECT max(i) AS most FROM ({match('s', 'k', 'ts')})", updating=True)
    assert not found.columns
    assert "sees all rows at once" in found.why
