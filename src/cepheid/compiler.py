"""The map: from text to a placed graph, every step kept so that `explain` can show it.

    text or Pattern ─parse─▶ tree ─bind_query─▶ bound graph ─rewrite_graph─▶ rewritten graph ─place─▶ placed graph

What happens next is the host's business (execution/).  Planning again is the same call.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

from cepheid.errors import CepheidError, InvalidInput, InvalidOrder, UnboundedState, UnboundedStateWarning
from cepheid.graph.json_form import write_json
from cepheid.graph.pattern_report import report_patterns
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.render_mermaid import render_mermaid
from cepheid.graph.render_text import render_text
from cepheid.graph.state_bounds import explain_unbounded, tell_how_to_bound
from cepheid.graph.validation import validate_graph
from cepheid.graph.window_report import report_windows
from cepheid.language.binder import bind_query
from cepheid.language.builder.parse_pattern import parse_pattern
from cepheid.language.builder.pattern_builder import Pattern
from cepheid.language.catalog import Catalog
from cepheid.language.parsing.parser import parse_query
from cepheid.language.parsing.syntax import ParsedQuery, SequenceClause
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.rewrite.rewriter import Application, rewrite_graph
from cepheid.rewrite.rule_order import RULES, Rule

StepName = Literal["parsed", "bound", "rewritten", "placed"]
FormatName = Literal["text", "mermaid", "json"]


@dataclass(frozen=True)
class Compilation:
    """A query, or several, at every step of their way."""

    parsed: tuple[ParsedQuery, ...]
    bound: QueryGraph
    rewritten: QueryGraph
    trace: tuple[Application, ...]
    placed: PlacedGraph


Query = str | Pattern


def compile_query(query: Query | Mapping[str, Query], known: Catalog, rules: tuple[Rule, ...] = RULES) -> Compilation:
    """All steps; mistakes in the text come out with their place in it.  Several queries, by name, become one graph:
    what they have in common is there once."""
    named = query if isinstance(query, Mapping) else {"query": query}
    if not named:
        raise InvalidInput("there is no query", hint="give at least one")
    bound, parsed_queries = QueryGraph(), []
    for name, each in named.items():
        if not isinstance(each, str | Pattern):
            hint = 'write it as SQL in a string, or begin it with cep.pattern("a")'
            raise InvalidInput(f"the query is a {type(each).__name__}, not text or a pattern", hint=hint)
        parsed = parse_query(each) if isinstance(each, str) else parse_pattern(each, known.schemas)
        try:
            bound = bind_query(parsed, known, bound, name)
        except CepheidError as problem:
            raise problem.with_text(parsed.text) from None
        parsed_queries.append(parsed)
    validate_graph(bound, "bound")
    rewritten, trace = rewrite_graph(bound, rules)
    validate_graph(rewritten, "rewritten")
    placed = place_by_nature(rewritten)
    validate_graph(placed.graph, "placed", placed.places)
    return Compilation(tuple(parsed_queries), bound, rewritten, trace, placed)


def check_bounded(compilation: Compilation, strict: bool) -> None:
    """For a continuous query: warn if its state cannot be bounded, refuse it if strict."""
    reasons = explain_unbounded(compilation.rewritten)
    if not reasons:
        return
    how = tell_how_to_bound(compilation.rewritten)
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
        for parsed in compilation.parsed:
            terms = [term for clause in parsed.clauses for term in clause.order_by]
            problem.span = problem.span or next((term.span for term in terms if term.span is not None), None)
            if problem.span is not None:
                raise problem.with_text(parsed.text) from None
        raise


def explain_compilation(compilation: Compilation, step: str = "rewritten", format: str = "text") -> str:  # noqa: A002 (the name is part of the contract)
    """One step, as text, Mermaid or JSON."""
    if step not in get_args(StepName):
        raise InvalidInput(f'there is no step "{step}"', hint=f"steps: {', '.join(get_args(StepName))}")
    if format not in get_args(FormatName):
        raise InvalidInput(f'there is no format "{format}"', hint=f"formats: {', '.join(get_args(FormatName))}")
    if step == "parsed":
        if format != "text":
            raise InvalidInput(f'the step "parsed" has no format "{format}"', hint="it is shown as text only")
        return "\n".join(map(_explain_parsed, compilation.parsed))
    graph = {"bound": compilation.bound, "rewritten": compilation.rewritten}.get(step, compilation.placed.graph)
    notes = compilation.placed.notes() if step == "placed" else None
    if format == "mermaid":
        return render_mermaid(graph, notes)
    if format == "json":
        return write_json(graph, notes)
    parts = [render_text(graph, notes)]
    if step != "bound":
        parts += [report_patterns(graph), report_windows(graph)]
    if step == "rewritten":
        parts.append(_explain_trace(compilation.trace))
    return "\n\n".join(part for part in parts if part)


def _explain_parsed(parsed: ParsedQuery) -> str:
    """What is left to the host, and the event constructs that were taken out of it."""
    lines = [f"query: {parsed.relation.sql(dialect='trino')}"]
    for clause in parsed.clauses:
        written = " ".join(parsed.text[clause.span.start : clause.span.end].split())
        source = f"{clause.source.sql(dialect='trino')} " if not isinstance(clause, SequenceClause) else ""
        lines.append(f"{clause.placeholder}: {source}{written}")
    return "\n".join(lines)


def _explain_trace(trace: tuple[Application, ...]) -> str:
    if not trace:
        return "rules applied: none"
    lines = ["rules applied:"]
    for number, application in enumerate(trace, 1):
        old, new = application.before.vertices, application.after.vertices
        changed = [vertex for vertex in new if old.get(vertex) != new[vertex]]
        gone = [f"-{vertex}" for vertex in old if vertex not in new]
        lines.append(f"  {number}. {application.rule}: {', '.join([*changed, *gone])}")
    return "\n".join(lines)
