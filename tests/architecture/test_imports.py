"""What importing costs: a name is loaded when it is used, and not before.  And no import hides a circle."""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter

import grimp
import pytest

HEAVY = ("pyspark", "numba", "duckdb", "pandas", "pyarrow", "pyarrow.compute", "sqlglot", "matplotlib", "typer")
# Columns from memory: Arrow itself loads pandas, if there is one, to make columns from lists and from arrays of numpy.
OPEN_AND_PUSH = """
import struct, sys
import pyarrow as pa
import cepheid as cep
def column(kind, form, value):
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(struct.pack(form, value))])
table = pa.table({{"id": column(pa.int64(), "q", 1), "price": column(pa.float64(), "d", 1.0),
                   "ts": column(pa.timestamp("us"), "q", 0)}})
query = cep.open({query!r}, **dict.fromkeys({streams!r}, table.schema))
query.push(**{{name: table for name in {streams!r}}})
"""


def loaded_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_importing_cepheid_loads_nothing_heavy() -> None:
    assert loaded_after("import cepheid") == set()


def test_files_of_people_are_read_without_anything_heavy() -> None:
    assert loaded_after("import cepheid.toml_files.reading, cepheid.cost.profile_file") == set()


def test_embedded_queries_never_load_spark() -> None:
    statement = "import cepheid as cep; cep.sql('SELECT 1 AS one')"
    assert "pyspark" not in loaded_after(statement)


@pytest.mark.parametrize(
    ("query", "streams"),
    [
        ("SELECT a.id FROM PATTERN SEQ(bids a, bids b) WHERE a.id = b.id WITHIN INTERVAL '1' HOUR", ("bids",)),
        (
            """SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(b.price) AS p
               PATTERN (a b+) DEFINE b AS price > PREV(price))""",
            ("bids",),
        ),
        ("SELECT id, avg(price) AS mean FROM bids [ROWS 100] GROUP BY id", ("bids",)),
        ("SELECT x.id FROM bids [ROWS 9] AS x, asks [ROWS 9] AS y WHERE x.id = y.id", ("bids", "asks")),
    ],
    ids=["sequence", "row pattern", "window", "join"],
)
def test_a_first_push_loads_only_what_it_needs(query: str, streams: tuple[str, ...]) -> None:
    """Each of these takes a tenth or a fifth of a second, when a process shall give its first answer within one."""
    loaded = loaded_after(OPEN_AND_PUSH.format(query=query, streams=streams))
    assert loaded.isdisjoint({"pyspark", "duckdb", "pandas", "pyarrow.compute", "matplotlib", "typer"})


def test_kernel_loads_neither_spark_nor_the_language() -> None:
    loaded = loaded_after("import cepheid.kernel.compiled.row_pattern, cepheid.kernel.compiled.sequence")
    assert loaded.isdisjoint({"pyspark", "sqlglot", "duckdb", "typer", "pandas"})


def test_modules_import_one_another_in_no_circle() -> None:
    """Counting imports inside functions and for type checkers, too."""
    graph = grimp.build_graph("cepheid", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, with the circle
