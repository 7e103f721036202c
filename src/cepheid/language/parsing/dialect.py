"""The SQL dialects: Trino's and Spark's, with event constructs as items of FROM and row patterns in WINDOW.

Where a table may stand, `PATTERN SEQ (` starts a sequence, and MATCH_RECOGNIZE behind a table takes it as its
input.  Either becomes a table without name that carries its clause; a window with a row pattern carries its own.
`parser.py` takes the clauses out.  They travel in the tree because sqlglot may read a part of the text twice and
throw one reading away.

In Spark's dialect a function is kept as it is written (exp.Anonymous): Spark itself is told its name and says what it
means.  sqlglot would translate it, and not always into the same.  Only aggregates, which our engines compute, and what
has a syntax of its own are read as what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.spark import Spark
from sqlglot.dialects.trino import Trino
from sqlglot.generators.spark import SparkGenerator
from sqlglot.generators.trino import TrinoGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.spark import SparkParser
from sqlglot.parsers.trino import TrinoParser

from cepheid.language.parsing.function_words import free_function_words
from cepheid.language.parsing.match_habits import MatchHabits, follow_habits, follow_within
from cepheid.language.parsing.match_recognize_parser import read_match_recognize
from cepheid.language.parsing.null_habits import BESIDE_TRINO, mark_between
from cepheid.language.parsing.pattern_window_parser import holds_pattern, read_window
from cepheid.language.parsing.sequence_parser import read_sequence
from cepheid.language.parsing.stream_window_parser import (
    at_emit,
    at_output,
    at_window,
    read_change_stream,
    read_emit,
    read_output,
    read_stream_window,
)
from cepheid.language.parsing.syntax import EventClause
from cepheid.language.parsing.time_templates import read_to_char
from cepheid.language.parsing.token_reader import TokenReader
from cepheid.language.parsing.window_function_parser import WINDOW_CALL, at_window_function, read_window_function
from cepheid.settings import DialectName

CLAUSE = "cepheid_clause"  # key in the meta of a table or a window
OUTPUT = "cepheid_output"  # key in the meta of a SELECT: when its window is looked at
CHANGES = "cepheid_changes"  # key in the meta of a SELECT: ISTREAM and the like
OVER_STARTS = frozenset({TokenType.L_PAREN, TokenType.VAR, TokenType.IDENTIFIER})  # else `over` is an alias
QUERY_STARTS = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.TABLE, TokenType.L_PAREN}
)


class CepheidParser(TokenReader):
    """The event constructs, whatever the dialect around them."""

    match_habits: ClassVar[MatchHabits] = MatchHabits()
    joins_need_condition: ClassVar[bool] = True

    def _parse_statement(self) -> exp.Expr | None:
        changes = read_change_stream(self, TokenType.L_PAREN)
        if changes is not None:
            hint = f"write {changes.kind.upper()}(SELECT ... FROM s [ROWS 100])"
            self.expect_mark(TokenType.L_PAREN, "(", hint=hint)
            query = self._parse_statement()
            self.expect_mark(TokenType.R_PAREN, ")", hint=hint)
            if isinstance(query, exp.Select):
                query.meta[CHANGES] = changes
                return query
            self.refuse(f"{changes.kind.upper()} is for a SELECT", span=changes.span, hint=hint)
        if self._curr and self._curr.token_type not in QUERY_STARTS:
            self.refuse(
                f'"{self.quote(self._curr)}" does not start a query',
                hint="write SELECT, WITH, VALUES or FROM; Cepheid reads streams and changes no table",
            )
        return super()._parse_statement()

    def _parse_into(self) -> None:
        if self._match(TokenType.INTO, advance=False):
            self.refuse("INTO would create a table", hint="name a sink where the query is deployed")

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        changes = read_change_stream(self, None)
        projections, exclude = super()._parse_projections()
        if not projections:
            self.raise_error("expected a column")
        if changes is not None:
            projections[0].meta[CHANGES] = changes  # the SELECT is not there yet
        return projections, exclude

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        own = self.parse_sequence() or self.parse_window_function()
        table = own or super()._parse_table(
            schema, joins, alias_tokens, parse_bracket, is_db_reference, parse_partition, consume_pipe
        )
        if own is not None and WINDOW_CALL in own.meta and joins:
            for join in self._parse_joins(alias_tokens):
                own.append("joins", join)
        while isinstance(table, exp.Expression):
            if self._match(TokenType.MATCH_RECOGNIZE, advance=False):
                table = self.parse_match_recognize(wrap_window_function(table))
            elif at_window(self):
                table = self.parse_stream_window(wrap_window_function(table))
            else:
                break
            for join in self._parse_joins(alias_tokens) if joins else ():
                table.append("joins", join)
        return table

    def parse_sequence(self) -> exp.Table | None:
        with self.without_retreat():
            clause = read_sequence(self)
        if clause is None:
            return None
        return carry_clause(replace(clause, within=follow_within(clause.within, self.match_habits)))

    def parse_window_function(self) -> exp.Table | None:
        if not at_window_function(self):
            return None
        with self.without_retreat():
            call = read_window_function(self)
        table = exp.Table(this=exp.to_identifier("_"))
        table.meta[WINDOW_CALL] = call
        table.set("alias", self._parse_table_alias())
        return table

    def parse_match_recognize(self, source: exp.Expression) -> exp.Table:
        with self.without_retreat():
            clause = follow_habits(read_match_recognize(self, source), self.match_habits)
        table = carry_clause(clause)
        table.set("alias", self._parse_table_alias())
        return table

    def parse_stream_window(self, source: exp.Expression) -> exp.Table:
        with self.without_retreat():
            clause = read_stream_window(self, source)
        table = carry_clause(clause)
        table.set("alias", self._parse_table_alias() or source.args.get("alias"))
        return table

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if isinstance(this, exp.Table):
            return this  # its bracket is a window
        if self._curr.token_type == TokenType.L_BRACKET and _is_surely_column(this):
            this = exp.Paren(this=this)  # else b.array[1] would be read as ARRAY[1]
        return super()._parse_bracket(this)

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        return None if at_output(self) or at_emit(self) else super()._parse_table_alias(alias_tokens)

    def _parse_query_modifiers(self, this: exp.Expr | None) -> exp.Expr | None:  # type: ignore[override]
        query = super()._parse_query_modifiers(this)
        if isinstance(query, exp.Select):
            if query.expressions and CHANGES in query.expressions[0].meta:
                query.meta[CHANGES] = query.expressions[0].meta.pop(CHANGES)
            with self.without_retreat():
                output = read_output(self)
                read_emit(self)
            if output is not None:
                query.meta[OUTPUT] = output
        return query

    def _parse_join_parts(self) -> tuple[Token | None, Token | None, Token | None]:
        """ASOF LEFT JOIN, and LEFT ASOF JOIN as well."""
        method, side, kind = super()._parse_join_parts()
        if method is not None and method.token_type == TokenType.POSITIONAL:
            self.refuse("POSITIONAL JOIN pairs rows by their place, which events have not", span=self.place(method),
                        hint="join by a column: JOIN t ON a.id = b.id")  # fmt: skip
        if method is None and (side or kind) and self._match(TokenType.ASOF):
            method = self._prev
        return method, side, kind

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        """sqlglot reads a JOIN without ON, and ON without a condition, as a join of every pair."""
        first = self._curr
        join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
        if join is None or first.token_type == TokenType.COMMA or not self.joins_need_condition:
            return join
        if not any(join.args.get(part) for part in ("on", "using", "method", "match_condition", "pivots")) and (
            join.kind in ("", "INNER", "OUTER", "SEMI", "ANTI")
        ):
            hint = "write ON a.id = b.id or USING (id) behind it; CROSS JOIN has every pair"
            self.refuse("this JOIN has no condition", span=self.place(first), hint=hint)
        return join

    def _parse_version(self) -> exp.Version | None:
        version = super()._parse_version()
        if version is not None and version.args.get("kind") == "AS OF" and version.expression is None:
            self.refuse_next("a time", hint="write FOR SYSTEM_TIME AS OF a.ts, a being the other side")
        return version

    def _parse_column(self) -> exp.Expr | None:
        column = super()._parse_column()
        over_window = self._curr.token_type == TokenType.OVER and self._next.token_type in OVER_STARTS
        return self._parse_window(column) if over_window and isinstance(column, exp.Column) else column

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        before = TokenType.ALIAS if alias else TokenType.OVER
        if self._curr.token_type != before or not holds_pattern(self, 1):
            return super()._parse_window(this, alias)
        self._advance()
        with self.without_retreat():
            clause = read_window(self)
        clause = replace(clause, within=follow_within(clause.within, self.match_habits))
        window = self.expression(exp.Window(this=this, over=None if alias else "OVER"))
        window.meta[CLAUSE] = clause
        return window


def carry_clause(clause: EventClause) -> exp.Table:
    """A table that stands for the clause until it gets its name."""
    table = exp.Table(this=exp.to_identifier("_"))
    table.meta[CLAUSE] = clause
    return table


def wrap_window_function(table: exp.Expression) -> exp.Expression:
    """The rows of a window function, where a clause takes them as its input."""
    if WINDOW_CALL not in table.meta:
        return table
    name = table.alias or None
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table)).subquery(name, copy=False)


def without_match_recognize(parsers: Mapping[TokenType, Any]) -> dict[TokenType, Any]:
    return {token: parse for token, parse in parsers.items() if token != TokenType.MATCH_RECOGNIZE}


def _without_start(words: Mapping[str, TokenType]) -> dict[str, TokenType]:
    """`start` and `show` are good names for pattern variables, and we run no commands."""
    return {word: kind for word, kind in words.items() if word != "START"}


def plain_words(words: Mapping[str, TokenType]) -> dict[str, TokenType]:
    """The words of another dialect, with ours."""
    return {**_without_start(words), "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE}


def _is_surely_column(tree: exp.Expr | None) -> bool:
    """Is it a column, though it is called ARRAY or LIST: has it something in front, or quotes around it?"""
    if tree is None or tree.name.upper() not in Parser.ARRAY_CONSTRUCTORS:
        return False
    is_quoted = isinstance(tree, exp.Column) and bool(tree.this.args.get("quoted"))
    return isinstance(tree, exp.Dot) or is_quoted or (isinstance(tree, exp.Column) and bool(tree.table))


def without_kinds(transforms: Mapping[type[exp.Expr], Any], *kinds: type[exp.Expr]) -> dict[type[exp.Expr], Any]:
    """What a generator does with others; these are written by their own names."""
    return {kind: write for kind, write in transforms.items() if kind not in kinds}


# --- Trino's ---------------------------------------------------------------------------------------------
class TrinoTextParser(TrinoParser):
    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        # ARRAY[ARRAY[1]] is a value: read as a type first, each level would be read twice as often as the one around it
        if check_func and self._match_pair(TokenType.ARRAY, TokenType.L_BRACKET, advance=False):
            return None
        return super()._parse_types(check_func, schema, allow_identifiers, with_collation)


class TrinoTextGenerator(TrinoGenerator):
    """sqlglot would write an arbitrary row for FIRST and LAST, and a quantile that is more or less right."""

    TRANSFORMS: ClassVar = without_kinds(TrinoGenerator.TRANSFORMS, exp.First, exp.Last, exp.WithinGroup, exp.Quantile)

    def min_sql(self, expression: exp.Min) -> str:
        return self.function_fallback_sql(expression)  # min(x, n) as well

    def max_sql(self, expression: exp.Max) -> str:
        return self.function_fallback_sql(expression)


class TrinoText(Trino):
    """Trino's SQL as it is written between our own parts: what Trino has not keeps its name."""

    Parser = TrinoTextParser
    Generator = TrinoTextGenerator


class TrinoCepheidParser(CepheidParser, TrinoTextParser):
    QUERY_MODIFIER_PARSERS: ClassVar = without_match_recognize(TrinoParser.QUERY_MODIFIER_PARSERS)
    FUNCTIONS: ClassVar = {**TrinoParser.FUNCTIONS, **BESIDE_TRINO}
    ARRAY_CONSTRUCTORS: ClassVar = {"ARRAY": exp.Array}  # list[1] is an element of a column
    FUNCTION_PARSERS: ClassVar = {
        **TrinoParser.FUNCTION_PARSERS,
        "TO_CHAR": read_to_char,
        "LISTAGG": lambda self: mark_between(self._parse_string_agg(), ""),
        "STRING_AGG": lambda self: mark_between(self._parse_string_agg(), ","),  # DuckDB's
    }


class Cepheid(Trino):
    """Trino with event constructs, and with backquoted names as in Spark."""

    class Tokenizer(Trino.Tokenizer):
        IDENTIFIERS: ClassVar = ['"', "`"]
        KEYWORDS: ClassVar = {
            **_without_start(Trino.Tokenizer.KEYWORDS),
            "MATCH_CONDITION": TokenType.MATCH_CONDITION,
        }
        COMMANDS: ClassVar = set()

    Parser = TrinoCepheidParser


# --- Spark's ---------------------------------------------------------------------------------------------
# what changes with each call, and what FIRST and LAST are made of
_READ_AS_KNOWN = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIMESTAMP", "RAND", "UUID"))
_OWN_SYNTAX = frozenset((
    "CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY", "MIN_BY", "MAX_BY",
    "PERCENTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE", "BROADCAST", "BROADCASTJOIN", "MAPJOIN", "MERGE",
    "MERGEJOIN", "SHUFFLEMERGE", "SHUFFLE_HASH", "SHUFFLE_REPLICATE_NL",
))  # fmt: skip
_MADE_BY_CALL = frozenset((TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT))


def _is_read_as_known(name: str) -> bool:
    kind = exp.FUNCTION_BY_NAME.get(name)
    return name in _READ_AS_KNOWN or (kind is not None and issubclass(kind, exp.AggFunc))


class SparkCepheidParser(CepheidParser, SparkParser):
    QUERY_MODIFIER_PARSERS: ClassVar = without_match_recognize(SparkParser.QUERY_MODIFIER_PARSERS)
    FUNCTIONS: ClassVar = {
        **{name: build for name, build in SparkParser.FUNCTIONS.items() if _is_read_as_known(name)},
        **{name: TrinoParser.FUNCTIONS[name] for name in ("FIRST", "LAST")},  # the second argument is an offset
    }
    joins_need_condition = False
    ARRAY_CONSTRUCTORS: ClassVar = {}  # array(1, 2)[1] takes an element of what a function makes
    FUNCTION_PARSERS: ClassVar = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX
    }

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        # array(1, 2) is a call, not a type
        calls = check_func and self._next and self._next.token_type == TokenType.L_PAREN
        if calls and self._curr.token_type in _MADE_BY_CALL:
            return None
        return super()._parse_types(check_func, schema, allow_identifiers, with_collation)

    def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
        if self.at_words("AT", "TIME", "ZONE"):
            self.refuse("Spark SQL has no AT TIME ZONE", hint="write from_utc_timestamp(ts, 'Europe/Berlin')")
        return this


class SparkTextGenerator(SparkGenerator):
    """sqlglot would write PERCENTILE_APPROX for PERCENTILE_CONT, and GREATEST(x, n) for MAX(x, n)."""

    TRANSFORMS: ClassVar = without_kinds(SparkGenerator.TRANSFORMS, exp.WithinGroup, exp.Min, exp.Max)

    def min_sql(self, expression: exp.Min) -> str:
        return self.function_fallback_sql(expression)

    def max_sql(self, expression: exp.Max) -> str:
        return self.function_fallback_sql(expression)


class SparkText(Spark):
    """Spark SQL as Spark is given it."""

    Generator = SparkTextGenerator


class CepheidSpark(Spark):
    """Spark SQL with event constructs."""

    class Tokenizer(Spark.Tokenizer):
        KEYWORDS: ClassVar = {
            **_without_start(Spark.Tokenizer.KEYWORDS),
            "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
            "MATCH_CONDITION": TokenType.MATCH_CONDITION,
        }
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']  # 'it''s', since Spark 4
        COMMANDS: ClassVar = set()

    Parser = SparkCepheidParser

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """GROUP BY window(...) is read again wherever a query is text between our own parts."""
        return free_function_words(super().tokenize(sql, dialect))


_BY_NAME: dict[DialectName, type[Cepheid] | type[CepheidSpark]] = {"trino": Cepheid, "spark": CepheidSpark}


def open_dialect(name: DialectName) -> Cepheid | CepheidSpark:
    return _BY_NAME[name]()
