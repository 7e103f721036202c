"""Text to syntax tree: `parse_query` is the door of the language.

    SELECT m.x                                    relation: SELECT m.x FROM _cep_1 AS m
    FROM buses MATCH_RECOGNIZE ( ... ) AS m   =>  clauses:  MatchRecognizeClause("_cep_1", source=buses, ...)

Scalar expressions in clauses are sqlglot trees.  What a pattern adds to them arrives as

    FIRST(b.x)  LAST(b.x, 2)         exp.First, exp.Last: `this`, and the offset as `expression`
    PREV(b.x)  NEXT(b.x, 2)          exp.Anonymous, `name` as written, arguments in `expressions`
    CLASSIFIER(b)  MATCH_NUMBER()    exp.Anonymous likewise
    RUNNING LAST(b.x)  FINAL b.x     exp.Anonymous named RUNNING or FINAL (capitals) around one operand;
                                     in front of a whole measure it becomes Measure.semantics
    COUNT(*)  COUNT(b.*)             exp.Count of exp.Star, or of exp.Column(this=exp.Star, table=b)
    sum(b.x) FILTER (WHERE b.y > 0)  exp.Filter around the aggregate
    b[i-1].x  COUNT(b[])             exp.Column with the table `b[i-1]`, or with the name `b[]` (SEQ; see elements.py)

Identifiers stay as written; whoever resolves them folds case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, count

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError, UnsupportedError

from cepheid.errors import CepheidError, NotSupportedYet, Span, SyntaxProblem
from cepheid.language.parsing.dialect import CLAUSE, CepheidParser, TrinoText, open_dialect
from cepheid.language.parsing.distinct_arguments import refuse_distinct_arguments
from cepheid.language.parsing.element_tokens import join_elements
from cepheid.language.parsing.flink_spellings import spell_flink
from cepheid.language.parsing.function_words import free_function_words
from cepheid.language.parsing.lift_windows import lift_windows
from cepheid.language.parsing.named_parts import name_outputs
from cepheid.language.parsing.nesting import limit_depth, too_deep
from cepheid.language.parsing.odd_characters import check_characters
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import (
    EventClause,
    ParsedQuery,
    PatternWindowClause,
    SequenceClause,
    StreamWindowClause,
)
from cepheid.language.parsing.token_reader import place_problem
from cepheid.language.parsing.window_spellings import spell_windows
from cepheid.language.parsing.written_dialects import FOREIGN, open_written
from cepheid.language.parsing.written_text import dialect_of
from cepheid.settings import DialectName, WrittenDialect

__all__ = ["parse_query", "span_of"]

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
QUERY_HINT = "write one query: SELECT, WITH, VALUES or FROM"
CLOSED_OR_OPEN = re.compile(
    r"""
      --[^\r\n]* | /\*.*?\*/ | \{\#.*?\#\}
    | '(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*`
    | (?P<open> ['"`] | /\* | \{\# )
    """,
    re.VERBOSE | re.DOTALL,
)
# in Spark's dialect a backslash takes the next mark with it, unless the text is raw
CLOSED_OR_OPEN_IN_SPARK = re.compile(
    r"""
      --[^\r\n]* | /\*.*?\*/ | \{\#.*?\#\}
    | \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`]|``)*`
    | (?P<open> ['"`] | /\* | \{\# )
    """,
    re.VERBOSE | re.DOTALL,
)
# in PostgreSQL's and DuckDB's only behind an E
CLOSED_OR_OPEN_BEHIND_E = re.compile(r"\b[eE]'(?:[^'\\]|\\.)*' | " + CLOSED_OR_OPEN.pattern, re.VERBOSE | re.DOTALL)
PIECES: dict[WrittenDialect, re.Pattern[str]] = {
    "spark": CLOSED_OR_OPEN_IN_SPARK,
    "risingwave": CLOSED_OR_OPEN_BEHIND_E,
    "duckdb": CLOSED_OR_OPEN_BEHIND_E,
}


def parse_query(text: str, dialect: DialectName = "trino") -> ParsedQuery:
    """The syntax tree of one query; every mistake in `text` is a SyntaxProblem with its place.

    dialect: of the tree and its values; a WrittenText says itself whose SQL it is, and is translated.
    """
    try:
        written = dialect_of(text) if dialect == "trino" else None
        relation = parse_relation(text, dialect, written)
        if written == "flink":
            spell_flink(relation)
        name_outputs(relation)
        names = FreeNames(name_freely("_cep", text), name_freely("_over", text), dialect == "spark")
        parsed = ParsedQuery(text, relation, tuple(take_out_clauses(relation, names)), dialect)
        if written in FOREIGN:
            check_translatable(parsed, written)
        return parsed
    except CepheidError as problem:
        problem.with_text(text)
        raise


# --- text to tree ----------------------------------------------------------------------------------------


def parse_relation(text: str, name: DialectName, written: WrittenDialect | None = None) -> exp.Expression:
    """The tree of sqlglot, in which tables carry the clauses."""
    pieces = PIECES.get(written or name, CLOSED_OR_OPEN)
    check_characters(text, pieces)
    check_closed(text, pieces)
    dialect = open_dialect(name) if written is None else open_written(written)
    tokens = free_function_words(read_tokens(dialect, text))
    check_single(tokens, text)
    parser = dialect.parser()
    assert isinstance(parser, CepheidParser), "every dialect of ours reads event constructs"
    tree = run_parser(parser, join_elements(tokens), text)
    if not isinstance(tree, QUERIES):
        raise SyntaxProblem("this is not a query", span=span_of_tokens(tokens), hint=QUERY_HINT)
    for alias in tree.find_all(exp.Alias):
        if isinstance(alias.this, exp.Star):
            hint = "a comma may be missing: SELECT *, x"
            span = span_of(alias.args["alias"]) or span_of(alias) or span_of_tokens(tokens)
            raise SyntaxProblem("* has no name of its own", span=span, hint=hint)
    return tree


def check_closed(text: str, pieces: re.Pattern[str]) -> None:
    for found in pieces.finditer(text):
        if found["open"]:
            what = "comment" if len(found["open"]) > 1 else "quote"
            raise SyntaxProblem(
                f"the {what} {found['open']} is never closed",
                span=Span(*found.span()),
                hint=f"close it, or remove the {what} mark",
            )


def check_translatable(parsed: ParsedQuery, written: WrittenDialect) -> None:
    """Refuse what Trino's SQL has no words for: sqlglot would leave it out."""
    for tree in (parsed.relation, *(part for clause in parsed.clauses for part in list_parts(clause))):
        try:
            tree.sql(dialect=TrinoText, unsupported_level=ErrorLevel.RAISE)
        except UnsupportedError as error:
            hint = "write it in the default dialect"
            raise NotSupportedYet(f"this part of {written}'s SQL ({error})", span=span_of(tree), hint=hint) from error


def read_tokens(dialect: Dialect, text: str) -> list[Token]:
    try:
        return dialect.tokenize(text)
    except TokenError as error:
        span = Span(error.start or 0, error.end or len(text))
        raise SyntaxProblem("the text cannot be split into words", span=span, hint=QUERY_HINT) from error


def check_single(tokens: list[Token], text: str) -> None:
    words = [token for token in tokens if token.token_type != TokenType.SEMICOLON]
    if not words:
        raise SyntaxProblem("the query is empty", span=Span(0, len(text)), hint=QUERY_HINT)
    ends = [token.start for token in tokens if token.token_type == TokenType.SEMICOLON]
    second = [token for token in words if ends and token.start > ends[0]]
    if second:
        raise SyntaxProblem(
            "there is more than one statement",
            span=span_of_tokens(second),
            hint="run the statements one by one",
        )


def span_of_tokens(tokens: list[Token]) -> Span:
    return Span(tokens[0].start, tokens[-1].end + 1)


def run_parser(parser: CepheidParser, tokens: list[Token], text: str) -> exp.Expr | None:
    try:
        return parser.parse([token for token in tokens if token.token_type != TokenType.SEMICOLON], text)[0]
    except CepheidError:
        raise
    except ParseError as error:
        raise place_problem(parser.furthest or error, span_of_tokens(tokens)) from error
    except RecursionError as error:
        raise too_deep(span_of_tokens(tokens)) from error
    # sqlglot trips over some malformed texts (None where it expects a node): still a mistake in the text
    except Exception as error:
        span = Span(parser.position, parser.position)
        raise SyntaxProblem("the query cannot be understood here", span=span, hint=QUERY_HINT) from error


# --- tree to clauses -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FreeNames:
    """Names that the query does not use: for tables that stand for clauses, and for columns that windows add;
    host_windows: the host has the windows of its own dialect itself."""

    placeholders: Iterator[str]
    outputs: Iterator[str]
    host_windows: bool = False


def name_freely(stem: str, text: str) -> Iterator[str]:
    """_cep_1, _cep_2, ... without those that the text uses itself."""
    lowered = text.lower()
    return (name for number in count(1) if (name := f"{stem}_{number}") not in lowered)


def take_out_clauses(tree: exp.Expression, names: FreeNames) -> Iterator[EventClause]:
    """The clauses that tables of `tree` carry, inner before outer; the tables get the placeholders' names."""
    limit_depth(tree)
    refuse_distinct_arguments(tree)
    spell_windows(tree, names.host_windows)
    lift_windows(tree, names.outputs)
    carriers = [table for table in tree.find_all(exp.Table) if CLAUSE in table.meta]
    for table in sorted(carriers, key=lambda table: table.meta[CLAUSE].span.start):
        clause: EventClause = table.meta.pop(CLAUSE)
        yield from chain.from_iterable(take_out_clauses(part, names) for part in list_parts(clause))
        clause = replace(clause, placeholder=next(names.placeholders))
        table.set("this", name_table(clause))
        yield clause


def name_table(clause: EventClause) -> exp.Identifier:
    identifier = exp.to_identifier(clause.placeholder)
    identifier.meta.update(start=clause.span.start, end=clause.span.end - 1)
    return identifier


def list_parts(clause: EventClause) -> Iterator[exp.Expression]:
    """The trees inside a clause, its input first."""
    if isinstance(clause, StreamWindowClause):
        yield clause.source
        yield from (part for part in (*clause.partition_by, clause.opens, clause.closes) if part is not None)
    elif not isinstance(clause, SequenceClause):
        yield clause.source
        yield from clause.partition_by
        yield from (measure.expression for measure in clause.measures)
        yield from (definition.condition for definition in clause.definitions)
        if isinstance(clause, PatternWindowClause) and clause.frame_end is not None:
            yield clause.frame_end
    elif clause.where is not None:
        yield clause.where
    yield from (term.expression for term in clause.order_by)
