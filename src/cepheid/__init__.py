"""Cepheid: complex event processing for Spark, and without it.

    import cepheid as cep

    cep.sql(text, **tables)       rows for tables or DataFrames
    cep.open(text, **schemas)     a continuous query in this process
    cep.explain(text, **inputs)   what becomes of the query, step by step
    cep.pattern("a").then("b")    a pattern written in Python, in place of text

Names are loaded when they are first used: a Spark worker that imports the kernel loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "sql": "cepheid.session",
    "open": "cepheid.session",
    "explain": "cepheid.session",
    "pattern": "cepheid.language.builder.pattern_builder",
    "Pattern": "cepheid.language.builder.pattern_builder",
    "Aggregate": "cepheid.lookups",
    "Database": "cepheid.lookups",
    "Table": "cepheid.lookups",
    "Splitter": "cepheid.execution.split",
    "late_events": "cepheid.session",
    "count_rejected": "cepheid.session",
    "CepheidError": "cepheid.errors",
    "RejectedEventsWarning": "cepheid.errors",
    "UnboundedStateWarning": "cepheid.errors",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names, all of them strings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cepheid' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
