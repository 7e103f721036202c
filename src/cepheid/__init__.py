"""Cepheid: complex event processing for Spark, and without it.

    import cepheid as cep

    cep.sql(text, **tables)       rows for tables or DataFrames
    cep.open(text, **schemas)     a continuous query in this process
    cep.explain(text, **inputs)   what becomes of the query, step by step
    cep.pattern("a").then("b")    a pattern written in Python, in place of text
    cep.ParallelWindows(...)      an operator of your own over windows, in several processes
    cep.Deploy(name=...), ...     what can be done to a running deployment, live or simulated

Names are loaded when they are first used: a Spark worker that imports the kernel loads nothing else.  Type checkers
read the imports below, which never run; a test keeps both lists equal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cepheid.collector import loading_modules

if TYPE_CHECKING:
    from cepheid.deployment import AddMachine as AddMachine
    from cepheid.deployment import Alter as Alter
    from cepheid.deployment import Deploy as Deploy
    from cepheid.deployment import Move as Move
    from cepheid.deployment import MoveGroups as MoveGroups
    from cepheid.deployment import RemoveMachine as RemoveMachine
    from cepheid.deployment import Replan as Replan
    from cepheid.deployment import Retire as Retire
    from cepheid.deployment import Scale as Scale
    from cepheid.deployment import TimedAction as TimedAction
    from cepheid.deployment import replay as replay
    from cepheid.errors import CepheidError as CepheidError
    from cepheid.errors import RejectedEventsWarning as RejectedEventsWarning
    from cepheid.errors import UnboundedStateWarning as UnboundedStateWarning
    from cepheid.execution.sinks.kinds import register_sink as register_sink
    from cepheid.execution.sinks.merged_table import MergeSink as MergeSink
    from cepheid.execution.sources.kinds import register_source as register_source
    from cepheid.execution.split import Splitter as Splitter
    from cepheid.language.builder.pattern_builder import Pattern as Pattern
    from cepheid.language.builder.pattern_builder import pattern as pattern
    from cepheid.lateness import Disorder as Disorder
    from cepheid.live_session import Session as Session
    from cepheid.lookups import Aggregate as Aggregate
    from cepheid.lookups import Database as Database
    from cepheid.lookups import Table as Table
    from cepheid.parallel import ParallelWindows as ParallelWindows
    from cepheid.processing_time import Clock as Clock
    from cepheid.processing_time import ManualClock as ManualClock
    from cepheid.session import count_rejected as count_rejected
    from cepheid.session import explain as explain
    from cepheid.session import late_events as late_events
    from cepheid.session import open as open  # noqa: A004 (the name is part of the contract: cep.open)
    from cepheid.session import report_lateness as report_lateness
    from cepheid.session import sql as sql
    from cepheid.user_functions import Function as Function

__version__ = "0.1.0"  # the only place that says it

_HOMES = {
    "sql": "cepheid.session",
    "open": "cepheid.session",
    "explain": "cepheid.session",
    "Session": "cepheid.live_session",
    "pattern": "cepheid.language.builder.pattern_builder",
    "Pattern": "cepheid.language.builder.pattern_builder",
    "Disorder": "cepheid.lateness",
    "Aggregate": "cepheid.lookups",
    "Database": "cepheid.lookups",
    "Table": "cepheid.lookups",
    "Clock": "cepheid.processing_time",
    "ManualClock": "cepheid.processing_time",
    "Function": "cepheid.user_functions",
    "Splitter": "cepheid.execution.split",
    "ParallelWindows": "cepheid.parallel",
    "register_source": "cepheid.execution.sources.kinds",
    "register_sink": "cepheid.execution.sinks.kinds",
    "MergeSink": "cepheid.execution.sinks.merged_table",
    "AddMachine": "cepheid.deployment",
    "Alter": "cepheid.deployment",
    "Deploy": "cepheid.deployment",
    "Move": "cepheid.deployment",
    "MoveGroups": "cepheid.deployment",
    "RemoveMachine": "cepheid.deployment",
    "Replan": "cepheid.deployment",
    "Retire": "cepheid.deployment",
    "Scale": "cepheid.deployment",
    "TimedAction": "cepheid.deployment",
    "replay": "cepheid.deployment",
    "late_events": "cepheid.session",
    "report_lateness": "cepheid.session",
    "count_rejected": "cepheid.session",
    "CepheidError": "cepheid.errors",
    "RejectedEventsWarning": "cepheid.errors",
    "UnboundedStateWarning": "cepheid.errors",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names, all of them strings)


if not TYPE_CHECKING:  # for a type checker, it would make every name valid

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'cepheid' has no attribute {name!r}")
        with loading_modules():
            value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
