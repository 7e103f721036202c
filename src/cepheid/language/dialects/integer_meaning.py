"""Division and means of whole numbers, as the dialect of a query has them: before names get their meanings.

                  7 / 2    avg of 1 and 2    1.0 / 3
    default       3.5      1.5               0.3333333333333333
    trino         3        1.5               0.3
    flink         3        1                 0.333333333333
    risingwave    3        1.5               0.3333333333333333
    duckdb        3.5      1.5               0.3333333333333333
    spark         3.5      1.5               0.333333

Casts and days that types decide are in typed_casts.py.

Which of them is meant depends on types.  The host is asked for those of both sides, over the columns that they read; a
side whose type cannot be found is refused, unless the other one settles it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.catalog import Catalog
from cepheid.language.dialects.column_types import ColumnTypes, TypeOf
from cepheid.language.dialects.typed_casts import DAYS, NO_CASTS, CastHabits, keep_date, settle_cast
from cepheid.language.parsing.own_functions import INT_DIV, JAVA_TEXT, PLAIN_TEXT, TRINO_TEXT, WHOLE, call_own
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import (
    EventClause,
    MatchRecognizeClause,
    ParsedQuery,
    PatternWindowClause,
    SequenceClause,
    StreamWindowClause,
)
from cepheid.settings import WrittenDialect

Decimal = tuple[int, int]  # digits in all, digits behind the point
QuotientDigits = Callable[[Decimal, Decimal], Decimal]


def digits_as_given(one: Decimal, other: Decimal) -> Decimal:
    """Trino: as many behind the point as one of the two has."""
    scale = max(one[1], other[1])
    return min(38, one[0] + other[1] + max(0, other[1] - one[1])), scale


def six_digits(one: Decimal, other: Decimal) -> Decimal:
    """Spark and Flink: at least six behind the point, fewer if there would be more than 38 in all."""
    scale = max(6, one[1] + other[0] + 1)
    digits = one[0] - one[1] + other[1] + scale
    return (digits, scale) if digits <= 38 else (38, max(38 - (digits - scale), min(scale, 6)))


@dataclass(frozen=True, slots=True)
class IntegerHabits:
    """cuts_quotients: is 7 / 2 a whole number?  cuts_means: is the mean of whole numbers one?  keeps_whole: are ceil
    and floor of one, or doubles?  digits: how many a quotient of decimals has; None: it is a double.
    literals_are_short: is 3 a decimal of one digit beside others?"""

    cuts_quotients: bool = False
    cuts_means: bool = False
    keeps_whole: bool = False
    digits: QuotientDigits | None = None
    literals_are_short: bool = False
    casts: CastHabits = NO_CASTS


HABITS: dict[WrittenDialect, IntegerHabits] = {
    "trino": IntegerHabits(
        cuts_quotients=True,
        keeps_whole=True,
        digits=digits_as_given,
        casts=CastHabits(halves_up=True, text_is_whole=True, text_of_double=TRINO_TEXT, keeps_dates=True),
    ),
    "flink": IntegerHabits(
        cuts_quotients=True,
        cuts_means=True,
        keeps_whole=True,
        digits=six_digits,
        casts=CastHabits(
            cuts_digits=True, cuts_text=True, text_of_double=JAVA_TEXT, capital_booleans=True, keeps_dates=True
        ),
    ),
    "spark": IntegerHabits(
        digits=six_digits,
        literals_are_short=True,
        casts=CastHabits(cuts_digits=True, text_is_whole=True, text_of_double=JAVA_TEXT, keeps_dates=True),
    ),
    "duckdb": IntegerHabits(casts=CastHabits(keeps_dates=False)),
    "risingwave": IntegerHabits(
        cuts_quotients=True, casts=CastHabits(text_is_whole=True, text_of_double=PLAIN_TEXT, keeps_dates=False)
    ),
}


def settle_integers(parsed: ParsedQuery, catalog: Catalog, written: WrittenDialect | None) -> ParsedQuery:
    """The query, in which whole numbers are divided as its dialect has it."""
    habits = HABITS.get(written) if written is not None else None
    if habits is None or parsed.dialect == "spark":  # Spark itself needs no help
        return parsed
    types = ColumnTypes(parsed, catalog)
    settle = _Settle(habits, types)
    types.settle = settle.change
    for query in types.inner_queries():
        settle.change(query, types.in_query)
    clauses = tuple(_map_clause(clause, settle, types) for clause in parsed.clauses)
    return replace(parsed, clauses=clauses)


def _map_clause(clause: EventClause, settle: _Settle, types: ColumnTypes) -> EventClause:
    """The clause with its conditions and measures settled, which look at the rows of its input."""
    type_of = types.in_clause(clause)

    def change(tree: exp.Expression) -> exp.Expression:
        return settle.change(tree, type_of)

    def change_any(tree: exp.Expression | None) -> exp.Expression | None:
        return None if tree is None else change(tree)

    match clause:
        case SequenceClause():
            return replace(clause, where=change_any(clause.where))
        case StreamWindowClause():
            return replace(clause, opens=change_any(clause.opens), closes=change_any(clause.closes))
        case MatchRecognizeClause() | PatternWindowClause():
            measures = tuple(replace(each, expression=change(each.expression)) for each in clause.measures)
            defined = tuple(replace(each, condition=change(each.condition)) for each in clause.definitions)
            changed = replace(clause, measures=measures, definitions=defined)
            if isinstance(changed, PatternWindowClause):
                functions = tuple(replace(each, expression=change(each.expression)) for each in changed.functions)
                return replace(changed, functions=functions)
            return changed


class _Settle:
    def __init__(self, habits: IntegerHabits, types: ColumnTypes) -> None:
        self.habits, self.types = habits, types

    def change(self, tree: exp.Expression, type_of: Callable[[exp.Expr], TypeOf]) -> exp.Expression:
        kinds = exp.Div | exp.Avg | exp.Cast | exp.Ceil | exp.Floor | DAYS
        found = [node for node in tree.walk(bfs=False) if isinstance(node, kinds)]
        for node in reversed(found):  # inner ones first
            if isinstance(node, exp.Div) and (self.habits.cuts_quotients or self.habits.digits):
                changed = self.settle_division(node, type_of(node))
            elif isinstance(node, exp.Avg) and self.habits.cuts_means:
                changed = self.settle_mean(node, type_of(node))
            elif isinstance(node, exp.Ceil | exp.Floor) and self.habits.keeps_whole:
                changed = self.settle_rounding(node, type_of(node))
            elif isinstance(node, exp.Cast):
                changed = node, settle_cast(node, type_of(node), self.habits.casts)
            elif isinstance(node, DAYS) and self.habits.casts.keeps_dates is not None:
                changed = node, keep_date(node, type_of(node), self.habits.casts.keeps_dates)
            else:
                continue
            old, new = changed
            if old is new:
                continue
            if old is tree:
                assert isinstance(new, exp.Expression), "calls are expressions"
                tree = new
            else:
                _put(old, new)
        return tree

    def settle_division(self, node: exp.Div, type_of: TypeOf) -> tuple[exp.Expr, exp.Expr]:
        sides = [type_of(side) for side in (node.this, node.expression)]
        if self.habits.digits is not None and None not in sides:
            changed = self.settle_decimals(node, sides)
            if changed is not None:
                return node, changed
        if not self.habits.cuts_quotients or any(side is not None and not is_whole(side) for side in sides):
            return node, node
        if any(side is None for side in sides):
            unknown = (node.this, node.expression)[sides.index(None)]
            raise NotSupportedYet(
                f'which division is meant in "{node.sql()}": of whole numbers or not',
                span=span_of(node),
                hint=f"say it: CAST({unknown.sql()} AS DOUBLE) or CAST({unknown.sql()} AS BIGINT)",
            )
        return node, call_own(INT_DIV, node.this.copy(), node.expression.copy())

    def settle_rounding(self, node: exp.Ceil | exp.Floor, type_of: TypeOf) -> tuple[exp.Expr, exp.Expr]:
        """A whole number is its own floor; DuckDB makes a double of it."""
        given = type_of(node.this) if not (node.args.get("decimals") or node.args.get("to")) else None
        return node, exp.Paren(this=node.this.copy()) if given is not None and is_whole(given) else node

    def find_decimal(self, written: exp.Expr, given: pa.DataType | None) -> Decimal | None:
        """The decimal that a number is taken for beside another; None of doubles."""
        if given is not None and pa.types.is_decimal(given):
            return given.precision, given.scale
        if given is None or not pa.types.is_integer(given):
            return None
        if self.habits.literals_are_short and isinstance(written, exp.Literal):
            return len(written.name), 0
        longest = 20 if self.habits.literals_are_short else 19
        return {8: 3, 16: 5, 32: 10, 64: longest}[given.bit_width], 0

    def settle_decimals(self, node: exp.Div, sides: list[pa.DataType | None]) -> exp.Expr | None:
        """A quotient of decimals, with the digits that it has; None if it is none."""
        written = (node.this, node.expression)
        one, other = (self.find_decimal(*pair) for pair in zip(written, sides, strict=True))
        has_decimal = any(side is not None and pa.types.is_decimal(side) and not is_whole(side) for side in sides)
        if one is None or other is None or not has_decimal or self.habits.digits is None:
            return None
        kind = self.habits.digits(one, other)
        return exp.Cast(this=exp.Paren(this=node.copy()), to=exp.DataType.build(f"decimal({kind[0]}, {kind[1]})"))

    def settle_mean(self, node: exp.Avg, type_of: TypeOf) -> tuple[exp.Expr, exp.Expr]:
        inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        given = type_of(inner)
        if given is None:
            hint = f"say it: CAST({inner.sql()} AS DOUBLE) or CAST({inner.sql()} AS BIGINT)"
            raise NotSupportedYet(
                f'which mean "{node.sql()}" is: of whole numbers or not', span=span_of(node), hint=hint
            )
        whole: exp.Expr = node
        while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
            whole = whole.parent
        return (whole, call_own(WHOLE, whole.copy())) if is_whole(given) else (node, node)


def _put(old: exp.Expr, new: exp.Expr) -> None:
    select = old.parent
    is_output = isinstance(select, exp.Select) and old.arg_key == "expressions"
    old.replace(new)
    if is_output:
        for node in new.walk():
            node.meta.update(old.meta)


def is_whole(arrow_type: pa.DataType) -> bool:
    """Sums of whole numbers are decimals without digits behind the point, in DuckDB."""
    return pa.types.is_integer(arrow_type) or (pa.types.is_decimal(arrow_type) and arrow_type == pa.decimal128(38, 0))
