"""What importing costs: a name is loaded when it is used, and not before.  And no import hides a circle."""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter

import grimp

HEAVY = ("pyspark", "numba", "duckdb", "pandas", "pyarrow", "sqlglot", "matplotlib", "typer")


def loaded_after(statement: str) -> set[str]:
    script = f"import sys; {statement}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_importing_cepheid_loads_nothing_heavy() -> None:
    assert loaded_after("import cepheid") == set()


def test_files_of_people_are_read_without_anything_heavy() -> None:
    assert loaded_after("import cepheid.toml_files.reading, cepheid.cost.profile_file") == set()


def test_embedded_queries_never_load_spark() -> None:
    statement = "import cepheid as cep; cep.sql('SELECT 1 AS one')"
    assert "pyspark" not in loaded_after(statement)


def test_kernel_loads_neither_spark_nor_the_language() -> None:
    loaded = loaded_after("import cepheid.kernel.compiled.row_pattern, cepheid.kernel.compiled.sequence")
    assert loaded.isdisjoint({"pyspark", "sqlglot", "duckdb", "typer", "pandas"})


def test_modules_import_one_another_in_no_circle() -> None:
    """Counting imports inside functions and for type checkers, too."""
    graph = grimp.build_graph("cepheid", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, with the circle
