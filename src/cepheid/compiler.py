"""The map: from text to a placed graph, every step kept so that `explain` can show it.

                 ┌──────────────────────── each query by itself ────────────────────────┐
    text or Pattern ─parse─▶ tree ─bind_query─▶ bound graph ─rewrite_graph─▶ rewritten graph
                                                                                  │ merge_graphs: what is equal, once
                                                         placed graph ◀─place─ one graph

`catalog` says what is known of streams and types, `host` which rules pay and where vertices run (hosts.py), `beliefs`
what is known of rates and costs.  What becomes of a query does not depend on the others: so its state, and all that was
learned about it, is found again in any other company.  Planning again is the same call with fresher beliefs; what
happens next is the host's business (execution/).
"""

from __future__ import annotations

import gc
import inspect
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from cepheid.collector import collecting_later
from cepheid.errors import CepheidError, InvalidInput, InvalidOrder, UnboundedState, UnboundedStateWarning
from cepheid.graph.attributes import Beliefs
from cepheid.graph.changing import HOW_TO_BOUND_CHANGES, explain_unbounded_changes
from cepheid.graph.json_form import write_json
from cepheid.graph.late_report import report_late
from cepheid.graph.merge_graphs import add_graph, merge_graphs
from cepheid.graph.pattern_report import report_patterns
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import needed_columns
from cepheid.graph.render_mermaid import render_mermaid
from cepheid.graph.render_text import render_text
from cepheid.graph.state_bounds import HOW_TO_BOUND, describe_remedy, explain_bound_of_data, explain_unbounded
from cepheid.graph.validation import validate_graph
from cepheid.graph.waiting import report_waiting
from cepheid.graph.window_report import report_windows
from cepheid.hosts import EMBEDDED, HostTraits
from cepheid.language.binder import bind_query
from cepheid.language.builder.parse_pattern import parse_pattern
from cepheid.language.builder.pattern_builder import Pattern
from cepheid.language.catalog import Catalog
from cepheid.language.dialects.integer_meaning import settle_integers
from cepheid.language.expressions.portable import check_portable
from cepheid.language.parsing.doubled_quotes import check_doubled_quotes
from cepheid.language.parsing.parser import parse_query
from cepheid.language.parsing.syntax import ParsedQuery, SequenceClause
from cepheid.language.parsing.written_text import dialect_of
from cepheid.language.processing_time import read_stamps
from cepheid.language.user_functions import name_functions
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.rewrite.rewriter import RuleApplication, rewrite_graph
from cepheid.schema import CHANGE_COLUMNS
from cepheid.settings import Settings

StepName = Literal["parsed", "bound", "rewritten", "placed"]
FormatName = Literal["text", "mermaid", "json"]
Query = str | Pattern
COLLECTED_AFTER = 100  # queries
HOW_TO_BOUND_RELATION = (
    "give the streams windows, FROM s [RANGE 1 HOUR], or bound the join: y.ts BETWEEN x.ts AND x.ts + INTERVAL '1' HOUR"
)


@dataclass(frozen=True)
class CompiledQuery:
    """One query at the steps of its own way."""

    name: str
    parsed: ParsedQuery
    bound: QueryGraph
    rewritten: QueryGraph
    trace: tuple[RuleApplication, ...]


@dataclass(frozen=True)
class Compilation:
    """Queries by name, and the one graph that they are together; labels: of each query, what its vertices are called
    there."""

    queries: Mapping[str, CompiledQuery]
    host: HostTraits
    placed: PlacedGraph
    labels: Mapping[str, Mapping[str, str]]

    @property
    def rewritten(self) -> QueryGraph:
        return self.placed.graph

    @cached_property
    def bound(self) -> QueryGraph:
        return merge_graphs(query.bound for query in self.queries.values())[0]


def compile_query(
    queries: Query | Mapping[str, Query], catalog: Catalog, host: HostTraits = EMBEDDED, beliefs: Beliefs | None = None
) -> Compilation:
    """All steps; mistakes in the text come out with their place in it."""
    named = queries if isinstance(queries, Mapping) else {"query": queries}
    if not named:
        raise InvalidInput("there is no query", hint="give at least one")
    beliefs = beliefs or Beliefs()
    compiled: dict[str, CompiledQuery] = {}
    with collecting_later():
        for number, (name, query) in enumerate(named.items(), 1):
            compiled[name] = _compile_one(name, query, catalog, host, beliefs)
            if number % COLLECTED_AFTER == 0:
                gc.collect(1)  # what was made since: what stays is not looked at again
    merged, labels = merge_graphs(query.rewritten for query in compiled.values())
    return Compilation(compiled, host, place_graph(merged, host), dict(zip(compiled, labels, strict=True)))


def add_query(
    compilation: Compilation, name: str, query: Query, catalog: Catalog, beliefs: Beliefs | None = None
) -> Compilation:
    """One query more beside those that are compiled: none of them is looked at again."""
    if name in compilation.queries:
        raise InvalidInput(f'there is a query "{name}" already', hint="give the new one another name")
    compiled = _compile_one(name, query, catalog, compilation.host, beliefs or Beliefs())
    merged, labels = add_graph(compilation.placed.graph, compiled.rewritten)
    return Compilation(
        {**compilation.queries, name: compiled},
        compilation.host,
        place_graph(merged, compilation.host),
        {**compilation.labels, name: labels},
    )


def _compile_one(name: str, query: Query, catalog: Catalog, host: HostTraits, beliefs: Beliefs) -> CompiledQuery:
    if not isinstance(query, str | Pattern):
        raise InvalidInput(
            f"the query is a {type(query).__name__}, not text or a pattern",
            hint='write it as SQL in a string, or begin it with cep.pattern("a")',
        )
    dialect, spark = catalog.dialect, catalog.spark
    if spark is not None and isinstance(query, str):
        check_doubled_quotes(query, lambda: bool(spark.fold("'a''b'").as_py() == "a'b"))
    parsed = parse_query(query, dialect) if isinstance(query, str) else parse_pattern(query, catalog.schemas, dialect)
    if catalog.portable:
        check_portable(parsed, {*catalog.python, *catalog.functions}, dialect_of(query))
    try:
        parsed = name_functions(parsed, catalog.functions)
        parsed = settle_integers(parsed, catalog, dialect_of(query))
        parsed = read_stamps(parsed, catalog.schemas, {*catalog.lookups, *catalog.changing})
        bound = bind_query(parsed, catalog, QueryGraph(), name)
    except CepheidError as problem:
        if catalog.changing and any(f'"{column}"' in problem.message for column in CHANGE_COLUMNS):
            problem.hint = (
                f"queries do not see {', '.join(CHANGE_COLUMNS)}: they stand in front of each row of the answer"
            )
        raise problem.with_text(parsed.text) from None
    validate_graph(bound, "bound")
    rewritten, trace = rewrite_graph(bound, host.rules, beliefs)
    validate_graph(rewritten, "rewritten")
    return CompiledQuery(name, parsed, bound, rewritten, trace)


def place_graph(graph: QueryGraph, host: HostTraits) -> PlacedGraph:
    placed = place_by_nature(graph, host.native)
    for refine in host.refine:
        placed = refine(placed)
    validate_graph(placed.graph, "placed", placed.places)
    return placed


def check_bounded(
    compilation: Compilation, strict: bool, changing: Collection[str] = (), kept: Collection[str] = ()
) -> None:
    """For a continuous query: warn if its state cannot be bounded, refuse it if strict; then also if only the data
    bound it.  changing: streams of which any row may be taken back, however old it is; kept: what relational parts
    keep for ever."""
    reasons = explain_unbounded(compilation.rewritten)
    runs = explain_bound_of_data(compilation.rewritten) if strict else []
    if runs and not reasons:
        raise UnboundedState("; ".join(runs), hint=HOW_TO_BOUND)
    how = describe_remedy(compilation.rewritten) if reasons else HOW_TO_BOUND_RELATION if kept else HOW_TO_BOUND_CHANGES
    reasons += kept
    reasons += explain_unbounded_changes(compilation.rewritten, changing)
    if not reasons:
        return
    if strict:
        raise UnboundedState("; ".join(reasons), hint=how)
    warnings.warn(f"{'; '.join(reasons)}; {how}", UnboundedStateWarning, stacklevel=_count_own_frames())


def _count_own_frames() -> int:
    """How many frames are ours, this one among them: then comes the line of the user."""
    frame, count = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("cepheid."):
        frame, count = frame.f_back, count + 1
    return count


@contextmanager
def placed_at_order(compilation: Compilation) -> Iterator[None]:
    """A host that cannot order the events says so under ORDER BY."""
    try:
        yield
    except InvalidOrder as problem:
        for parsed in (query.parsed for query in compilation.queries.values()):
            terms = [term for clause in parsed.clauses for term in clause.order_by]
            problem.span = problem.span or next((term.span for term in terms if term.span is not None), None)
            if problem.span is not None:
                raise problem.with_text(parsed.text) from None
        raise


def explain_compilation(
    compilation: Compilation,
    step: str = "rewritten",
    format: str = "text",  # noqa: A002 (the name is part of the contract)
    idle: Collection[str] = (),
    late: Settings | None = None,
) -> str:
    """One step, as text, Mermaid or JSON.  idle: streams that may be; late: what was said of late events."""
    if step not in get_args(StepName):
        raise InvalidInput(f'there is no step "{step}"', hint=f"steps: {', '.join(get_args(StepName))}")
    if format not in get_args(FormatName):
        raise InvalidInput(f'there is no format "{format}"', hint=f"formats: {', '.join(get_args(FormatName))}")
    if step == "parsed":
        if format != "text":
            raise InvalidInput(f'the step "parsed" has no format "{format}"', hint="it is shown as text only")
        return "\n".join(_explain_parsed(query.parsed) for query in compilation.queries.values())
    graph = compilation.bound if step == "bound" else compilation.placed.graph
    places = compilation.placed.notes() if step == "placed" else {}
    if format == "mermaid":
        return render_mermaid(graph, places)
    if format == "json":
        return write_json(graph, places)
    parts = [render_text(graph, places if step == "bound" else _note_columns(graph, places))]
    if step != "bound":
        parts += [report_patterns(graph), report_windows(graph), report_waiting(graph, idle)]
        parts += [] if late is None else [report_late(graph, late, compilation.placed.engines())]
    if step == "rewritten":
        parts.append(_explain_trace(compilation))
    return "\n\n".join(part for part in parts if part)


def _note_columns(graph: QueryGraph, places: Mapping[str, str]) -> dict[str, str]:
    """Where vertices are, and which columns of each producer are read."""
    notes = dict(places)
    for source in graph.of_role("producer"):
        names = needed_columns(graph, source)
        read = "reads everything" if names is None else f"reads {', '.join(sorted(names)) or 'no column'}"
        notes[source] = f"{notes[source]}, {read}" if source in notes else read
    return notes


def _explain_parsed(parsed: ParsedQuery) -> str:
    """What is left to the host, and the event constructs that were taken out of it."""
    lines = [f"query: {parsed.relation.sql(dialect=parsed.dialect)}"]
    for clause in parsed.clauses:
        written = " ".join(parsed.text[clause.span.start : clause.span.end].split())
        source = f"{clause.source.sql(dialect=parsed.dialect)} " if not isinstance(clause, SequenceClause) else ""
        lines.append(f"{clause.placeholder}: {source}{written}")
    return "\n".join(lines)


def _explain_trace(compilation: Compilation) -> str:
    lines: list[str] = []
    for query in compilation.queries.values():
        labels = compilation.labels[query.name]
        owner = f"{query.name}: " if len(compilation.queries) > 1 else ""
        for application in query.trace:
            changed = [labels.get(vertex, vertex) for vertex in application.changed]
            gone = [f"-{vertex}" for vertex in application.gone]
            lines.append(f"  {len(lines) + 1}. {owner}{application.rule}: {', '.join([*changed, *gone])}")
    return "\n".join(["rules applied:", *lines]) if lines else "rules applied: none"
