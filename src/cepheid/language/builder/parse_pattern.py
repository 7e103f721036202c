"""A pattern written in Python to a syntax tree: once schemas are known, it is written out as text and parsed.

Pattern ─▶ names of streams, columns that come out ─▶ text ─parse_query─▶ tree, with functions beside its terms
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from cepheid.errors import InvalidQuery, UnknownStream
from cepheid.language.builder.pattern_builder import Pattern, write_pattern
from cepheid.language.builder.pattern_terms import list_single
from cepheid.language.builder.pattern_text import show_name
from cepheid.language.parsing.parser import parse_query
from cepheid.language.parsing.syntax import ParsedQuery, SequenceClause, SequenceTerm, change_terms
from cepheid.settings import DialectName


def parse_pattern(pattern: Pattern, schemas: Mapping[str, pa.Schema], dialect: DialectName = "trino") -> ParsedQuery:
    """The syntax tree of a pattern over streams with these schemas; `dialect`: of the pieces of SQL in it."""
    if not any(not term.negated or term.lasting is not None for term in pattern.terms):
        raise InvalidQuery("the pattern has no event that must happen", hint='begin with cep.pattern("a")')

    if pattern.timeouts and pattern.duration is None:
        raise InvalidQuery("timeout_rows() needs within(...)", hint='add .within("10 seconds")')

    def name_stream(stream: str | None) -> str:
        return show_name(_only_stream(pattern, schemas) if stream is None else stream)

    outputs = pattern.outputs or _list_outputs(pattern, schemas)
    parsed = parse_query(write_pattern(pattern, name_stream, outputs), dialect)
    *inner, clause = parsed.clauses
    assert isinstance(clause, SequenceClause), "the clause of a pattern ends behind those in its texts"
    return replace(parsed, clauses=(*inner, _attach_functions(clause, pattern)))


def _attach_functions(clause: SequenceClause, pattern: Pattern) -> SequenceClause:
    functions = {term.variable: term.functions for term in pattern.terms}

    def attach(term: SequenceTerm) -> SequenceTerm:
        return replace(term, predicates=functions[term.variable.text])

    items = change_terms(clause.items, attach)
    return replace(clause, items=items)


def _only_stream(pattern: Pattern, schemas: Mapping[str, pa.Schema]) -> str:
    if len(schemas) == 1:
        return next(iter(schemas))
    unnamed = next(term.variable for term in pattern.terms if term.stream is None)
    given = f"given {', '.join(schemas)}" if schemas else "given none"
    raise InvalidQuery(
        f'the pattern does not say of which stream "{unnamed}" is, and the query is {given}',
        hint=f'name it: "{unnamed}", stream="{next(iter(schemas), "bids")}"',
    )


def _list_outputs(pattern: Pattern, schemas: Mapping[str, pa.Schema]) -> tuple[str, ...]:
    """Every column of every variable that is bound once."""
    outputs = []
    for term in list_single(pattern.items):
        stream = _only_stream(pattern, schemas) if term.stream is None else term.stream
        found = next((name for name in schemas if name.lower() == stream.lower()), None)
        if found is None:
            raise UnknownStream(stream, schemas)
        outputs += [
            f"{show_name(term.variable)}.{show_name(column)} AS {show_name(f'{term.variable}_{column}')}"
            for column in schemas[found].names
        ]
    if pattern.timeouts:
        outputs.append("TIMED_OUT() AS timed_out")
    if not outputs:
        message = "every event of the pattern is repeated, so that no column can be chosen by itself"
        raise InvalidQuery(message, hint='choose some: select(n="count(b[])")')
    return tuple(outputs)
