"""What a person runs: streams that come in, queries over them, and the machines it is to run on.

APP.toml ─read_application─▶ Application ─compile_application─▶ placed graph ─▶ run, calibrate, simulate
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.compiler import Compilation, compile_query
from cepheid.cost.profile import NOMINAL_MIPS, HostName
from cepheid.errors import CepheidError, InvalidInput, Span
from cepheid.hosts import EMBEDDED, SPARK_STREAMS, HostTraits
from cepheid.language.catalog import Catalog
from cepheid.language.dialects.named_times import mark_event_times
from cepheid.language.expressions.host_types import Describe
from cepheid.lateness import Disorder

HOSTS: dict[HostName, HostTraits] = {"embedded": EMBEDDED, "spark": SPARK_STREAMS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationSource:
    """arrivals: the table that says how many events come (simulation/arrivals), empty: not said.  keys: how many
    different keys its events have, or how many values a column has; None: not known.  path: where it is
    read from, as the file says it: a path, a pattern or whatever else is a source.

    On Spark as well: is_declared: does the file say the schema, or was it found?  time: the column that is event time;
    None: the only timestamp.  lateness: how late events may come.  dead_letters: where records go that do not fit.
    options: given to Spark's reader as they are.

    idle_after: how long it may say nothing while others go on, before they no longer wait for it."""

    name: str
    schema: pa.Schema
    arrivals: Mapping[str, Any] = field(default_factory=dict)
    keys: float | Mapping[str, float] | None = None
    path: str | None = None
    is_declared: bool = True
    time: str | None = None
    lateness: timedelta = timedelta(0)
    dead_letters: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    idle_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ScriptPlaces:
    """Where the parts of a query stand in a script: pieces of its text, by start, length, and start in the script."""

    path: str
    script: str
    pieces: tuple[tuple[int, int, int], ...]

    def find(self, span: Span) -> Span | None:
        for start, length, written in self.pieces:
            if start <= span.start <= start + length:
                end = min(span.end, start + length)
                return Span(span.start - start + written, end - start + written)
        return None


def place_in_file(problem: CepheidError, query: ApplicationQuery) -> None:
    """Let the problem tell where in the file it is."""
    problem.origin = query.origin
    found = query.script.find(problem.span) if query.script is not None and problem.span is not None else None
    if query.script is not None and found is not None and problem.text == query.text:
        problem.span, problem.text, problem.origin = found, query.script.script, query.script.path


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationQuery:
    """selectivity: rows that come out for each event that comes in, None: not known.  origin: where the text stands,
    for messages.  sink: where its rows go, as the file says it; None: nowhere, but to who runs it.  rows: the columns
    that the sink is declared to have, in the order of the query's; None: those of the query.  script: where it stands
    in one."""

    name: str
    text: str
    selectivity: float | None = None
    origin: str = "query"
    sink: str | None = None
    rows: pa.Schema | None = None
    script: ScriptPlaces | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """engines: how many run at the same time, with `pes` processors each, of `mips` million instructions per second.

    trigger_s: how often Spark takes what has come, or a program pushes; 0: as soon as the batch before is done.
    price_per_hour: of one engine.  master: the cluster that Spark runs on, as Spark names it.
    """

    engines: int = 1
    pes: int = 1
    mips: float = NOMINAL_MIPS
    host: HostName = "embedded"
    trigger_s: float = 0.0
    price_per_hour: float = 0.0
    master: str = "local[2]"

    @property
    def processors(self) -> int:
        return self.engines * self.pes


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """tables: what events are looked up in, by their schemas; table_paths: where, as the file says it.  simulation:
    fields of a scenario, by name.  checkpoint:
    the folder that a run on Spark goes on from, as the file says it; None: one beside the file.  spark: settings of
    Spark's session, by Spark's names.  disorder: what becomes of late events; None: as sources say."""

    path: Path
    sources: Mapping[str, ApplicationSource]
    queries: Mapping[str, ApplicationQuery]
    tables: Mapping[str, pa.Schema] = field(default_factory=dict)
    table_paths: Mapping[str, str] = field(default_factory=dict)
    profile: Path | None = None
    cluster: Cluster = Cluster()
    simulation: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    disorder: Disorder | None = None


def event_times(application: Application) -> dict[str, str]:
    """By source, the column that is the time of its events, where the file says it."""
    return {name: source.time for name, source in application.sources.items() if source.time is not None}


def make_catalog(application: Application, describe: Describe) -> Catalog:
    """What its queries may read."""
    for name, source in application.sources.items():
        if not source.schema.names:
            hint = f'[source.{name}] schema = {{ ts = "timestamp", id = "int" }}'
            raise InvalidInput(f'the columns of source "{name}" are known to Spark only', hint=hint)
    schemas = {name: source.schema for name, source in application.sources.items()} | dict(application.tables)
    schemas = mark_event_times(schemas, event_times(application))
    return Catalog(schemas, describe, frozenset(application.sources), frozenset(application.tables))


def compile_application(application: Application, describe: Describe) -> Compilation:
    """All its queries as one graph.  describe: tells the types of SQL, as the host sees them."""
    try:
        texts = {name: query.text for name, query in application.queries.items()}
        return compile_query(texts, make_catalog(application, describe), HOSTS[application.cluster.host])
    except CepheidError as problem:
        for query in application.queries.values():
            if query.text == problem.text:
                place_in_file(problem, query)
                break
        raise
