"""Functions of the user in DuckDB, which evaluates them here and in the workers of Spark.

    register_functions({"count_char": Function(...)})     known in this process from now on, under the name of hosts

What a function raises is kept beside DuckDB, which would only tell its text.
"""

from __future__ import annotations

import atexit
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.errors import CepheidError
from cepheid.user_functions import ANYTHING, Function

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_known: dict[str, tuple[str, Function]] = {}  # by name of hosts: the user's name, and the function
_made: dict[int, set[str]] = {}  # by connection: what it knows
_failed: dict[str, CepheidError] = {}  # by name of hosts
_registering = threading.Lock()


def register_functions(functions: Mapping[str, Function]) -> None:
    for name, function in functions.items():
        _known[function.identify(name)] = (name, function)


def list_functions(texts: str) -> dict[str, Function]:
    """Those that are called in a text, by the user's name, to be told to another process."""
    return {name: function for host_name, (name, function) in _known.items() if host_name in texts}


def make_functions(database: DuckDBPyConnection) -> None:
    """Let DuckDB know all functions that it does not know yet."""
    made = _made.setdefault(id(database), set())
    if len(made) == len(_known):
        return
    with _registering:
        if not made:
            atexit.register(database.close)
        for host_name, (name, function) in _known.items():
            if host_name not in made:
                _make(database, host_name, name, function)
                made.add(host_name)


def _make(database: DuckDBPyConnection, host_name: str, name: str, function: Function) -> None:
    takes_anything = ANYTHING in function.takes
    types = None if takes_anything else [_name_type(database, each) for each in function.takes]
    create: Any = database.create_function
    gives = _name_type(database, function.gives)
    create(host_name, _guard(host_name, name, function), types, gives, type="arrow", null_handling="special")


def _guard(host_name: str, name: str, function: Function) -> Callable[..., pa.Array]:
    def call(*columns: Any) -> pa.Array:
        try:
            return function.call(name, columns)
        except CepheidError as problem:
            _failed[host_name] = problem
            raise

    names = [f"x{number}" for number in range(len(function.takes))]
    parameters = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_ONLY) for each in names]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # DuckDB counts them
    return call


def _name_type(database: DuckDBPyConnection, arrow_type: pa.DataType) -> Any:
    """As DuckDB sees a column of this type."""
    cursor = database.cursor()
    try:
        cursor.register("_input", pa.schema([("x", arrow_type)]).empty_table())
        return cursor.sql("SELECT x FROM _input").types[0]
    finally:
        cursor.close()


def take_failure(told: str) -> CepheidError | None:
    """What a function raised, if that is what DuckDB tells."""
    if "UDF" not in told and "Python exception" not in told:
        return None
    return _failed.popitem()[1] if _failed else None
