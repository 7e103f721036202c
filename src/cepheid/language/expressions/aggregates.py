"""Aggregates over the rows of a match: from the way they are written to the kernel's record.

    sum(b.x)                            Aggregate("sum", "x", variables=("b",))
    count(*)                            Aggregate("count", None)
    avg(b.x * b.y)                      the host computes b.x * b.y as a column before matching, which is averaged
    sum(b.x) FILTER (WHERE b.y > 0)     likewise CASE WHEN b.y > 0 THEN b.x END: nulls are left out
    count_if(b.x > 0)                   count(CASE WHEN b.x > 0 THEN 1 END)
    bool_and(b.f), bool_or(b.f)         min and max: false is less than true

All columns in one aggregate are of one variable, or of none (all rows of the match).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError, InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.kernel.aggregates.catalog import find_aggregate, find_written
from cepheid.kernel.aggregates.definition import AggregateDefinition, Place
from cepheid.kernel.aggregates.of_rows import list_written
from cepheid.kernel.expression import Aggregate
from cepheid.language.expressions.decimals import fits_whole, whole_value
from cepheid.language.expressions.navigation import PHYSICAL, is_universal, is_variable, owner_of
from cepheid.language.expressions.scope import CONSTANT, EventInput, InputColumn, Variables
from cepheid.language.expressions.uncompilable import Uncompilable
from cepheid.language.parsing.places import fold_identifier, span_of
from cepheid.language.relations.sql_values import read_value, write_tree

UNKNOWN_TO_SQLGLOT = ("EVERY",)
OTHERS = frozenset((  # aggregates that sqlglot takes for functions of one row
    *list_written("trino"), *list_written("spark"), "CHECKSUM", "NUMERIC_HISTOGRAM", "REDUCE_AGG",
))  # fmt: skip
FACTS = ("CLASSIFIER", "MATCH_NUMBER", "TIMED_OUT", "RUNNING", "FINAL")
DISTINCT_HINT = "make one column of them in a subquery"
NAVIGATION = {"LAG": "PREV", "LEAD": "NEXT", "FIRST_VALUE": "FIRST", "LAST_VALUE": "LAST"}
CHOICE_HINT = "array_agg collects the values; min, max, min_by and max_by choose one"
CHANGING = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Localtimestamp, exp.Rand, exp.Uuid)

CHANGING_CALLS = (  # the same in Spark's dialect, where functions are kept by name
    "NOW", "CURDATE", "RANDOM", "RANDN", "RANDSTR", "UNIFORM", "SHUFFLE", "MONOTONICALLY_INCREASING_ID",
    "SPARK_PARTITION_ID", "INPUT_FILE_NAME", "LOCALTIMESTAMP", "CURRENT_TIME", "UUID", "RAND", "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrittenAggregate:
    """`argument`: None counts rows."""

    node: exp.Expr
    function: str
    argument: exp.Expr | None
    by: exp.Expr | None = None
    distinct: bool = False
    of_logic: bool = False  # bool_and and bool_or: the argument is true or false

    @property
    def parts(self) -> list[exp.Expr]:
        return [part for part in (self.argument, self.by) if part is not None]


def find_changing(tree: exp.Expr) -> exp.Expr | None:
    """The first part that gives another value each time it is asked."""
    return next(filter(is_changing, tree.walk()), None)


def is_changing(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        alone = node.name.upper() == "UNIX_TIMESTAMP" and not node.expressions
        return alone or node.name.upper() in CHANGING_CALLS
    return isinstance(node, CHANGING)


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        return True
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in UNKNOWN_TO_SQLGLOT or node.name.upper() in OTHERS
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.First | exp.Last)


def find_definition(call: exp.Expr, place: Place) -> AggregateDefinition | None:
    """The aggregate that a call names; None: it is none, or not one of this place."""
    return find_written(names_of_call(call), place)


def names_of_call(call: exp.Expr) -> list[str]:
    if isinstance(call, exp.Anonymous):
        return [call.name]
    return list(call.sql_names()) if isinstance(call, exp.Func) else []


def bind_aggregate(
    node: exp.Expr, source: EventInput, variables: Variables, *, in_condition: bool = False
) -> Aggregate:
    """The aggregate that is written; a column that the kernel cannot compute with is `Uncompilable` in a condition."""
    written = read_aggregate(node)
    members = find_members(written.node, written.parts, variables)
    column = None if written.argument is None else _find_column(written.argument, source)
    by = None if written.by is None else _find_column(written.by, source)
    check_types(written, column, by)
    bound = Aggregate(
        written.function,
        column.layout if column else None,
        variables=members,
        by=by.layout if by else None,
        distinct=written.distinct,
    )
    return _with_kinds(bound, written, source, column, by) if in_condition else bound


# --- what is written --------------------------------------------------------------------------------------


def read_aggregate(node: exp.Expr, *, facts: bool = False) -> WrittenAggregate:
    """facts: may it be of what only a match has, as CLASSIFIER()?"""
    condition = None
    call = node
    if isinstance(node, exp.Filter):
        call, condition = node.this, node.expression.this
    if isinstance(call, exp.Anonymous) and call.name.upper() == "EVERY" and len(call.expressions) == 1:
        call = _replace_call(call, exp.LogicalAnd(this=call.expressions[0].copy()))
    definition = find_definition(call, "measures")
    if definition is None:
        raise _describe_unknown(call, node)
    if isinstance(call, exp.Anonymous):
        name = call.name.upper()
        raise InvalidQuery(f"{name} needs one column", span=span_of(node), hint=f"write {name.lower()}(b.x > 0)")
    written = _read_arguments(WrittenAggregate(node, definition.name, call.this), call)
    check_inside(written.parts, facts)
    if isinstance(call, exp.CountIf) and written.argument is not None:
        written = replace(written, argument=only_where(written.argument, exp.Literal.number(1)))
    return written if condition is None else _with_filter(written, condition)


def _replace_call(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    new.meta.update(old.meta)
    return new


def _describe_unknown(call: exp.Expr, node: exp.Expr) -> CepheidError:
    if isinstance(call, exp.First | exp.Last) or not is_aggregate(call):
        return InvalidQuery(
            "FILTER belongs to an aggregate", span=span_of(node), hint="write sum(b.x) FILTER (WHERE b.y > 0)"
        )
    if isinstance(call, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        in_order = isinstance(call, exp.WithinGroup)
        hint = "collect the values with array_agg" if in_order else "leave it out: only array_agg keeps nulls"
        return NotSupportedYet(f'"{call.sql()}" over the rows of a match', span=span_of(node), hint=hint)
    name = call.name.upper() if isinstance(call, exp.Anonymous) else _function_name(call)
    if name in NAVIGATION:
        hint = f"write {NAVIGATION[name]}: in a match it reads the row"
        return InvalidQuery(f"{name} needs OVER, which the rows of a match have not", span=span_of(node), hint=hint)
    return NotSupportedYet(f"the aggregate {name} over the rows of a match", span=span_of(node), hint=CHOICE_HINT)


def _function_name(call: exp.Expr) -> str:
    return call.sql_name() if isinstance(call, exp.Func) else call.key.upper()


def _read_arguments(written: WrittenAggregate, call: exp.Expr) -> WrittenAggregate:
    argument, by, distinct = written.argument, call.args.get("expression"), False
    if isinstance(argument, exp.Order):
        raise NotSupportedYet(
            "ORDER BY inside an aggregate", span=span_of(call), hint="rows of a match are in order of time already"
        )
    if isinstance(argument, exp.Distinct):
        distinct = True
        argument, *more = argument.expressions or [None]
        if find_aggregate(written.function).has_measure and by is None and len(more) == 1:
            by, more = more[0], []
        if more:
            raise NotSupportedYet("DISTINCT over several columns", span=span_of(call), hint=DISTINCT_HINT)
    if call.args.get("expressions") or call.args.get("count"):
        hint = "min_by and max_by take two columns, the other aggregates one"
        raise NotSupportedYet(f'"{call.sql()}" with so many arguments', span=span_of(call), hint=hint)
    if argument is None and written.function == "count" and not distinct and not isinstance(call, exp.CountIf):
        return written  # count() counts rows
    star = argument.this if isinstance(argument, exp.Column) else argument
    if argument is None or (isinstance(star, exp.Star) and (written.function != "count" or distinct)):
        hint = f"write {_function_name(call).lower()}(b.x); count(*) counts rows"
        raise InvalidQuery(f"{_function_name(call)} needs a column", span=span_of(call), hint=hint)
    of_logic = isinstance(call, exp.LogicalAnd | exp.LogicalOr)
    if isinstance(star, exp.Star):
        return replace(written, argument=None)
    if written.function == "count" and not isinstance(call, exp.CountIf) and isinstance(argument, exp.Literal):
        return replace(written, argument=None)  # count(1) counts rows
    if find_aggregate(written.function).has_measure:
        distinct = False  # of equal rows the first is as good as any
    return replace(written, argument=argument, by=by, distinct=distinct, of_logic=of_logic)


def check_inside(parts: list[exp.Expr], facts: bool = False) -> None:
    """An aggregate is over values of rows: no navigation, no other aggregates; facts: may they be about the match?"""
    for part in parts:
        for inner in part.walk():
            if is_aggregate(inner):
                raise InvalidQuery(
                    "an aggregate cannot stand inside another",
                    span=span_of(inner),
                    hint="make the inner one a measure, and aggregate it in a query around",
                )
            name = inner.name.upper() if isinstance(inner, exp.Anonymous) else ""
            if isinstance(inner, exp.First | exp.Last) or name in PHYSICAL:
                raise InvalidQuery(
                    "FIRST, LAST, PREV and NEXT cannot stand inside an aggregate",
                    span=span_of(inner),
                    hint="name the column alone: sum(b.x) is over all rows of b",
                )
            if name in FACTS and not (facts and name in ("CLASSIFIER", "MATCH_NUMBER")):
                hint = "choose rows by their variable: sum(b.x) is over the rows of b"
                raise NotSupportedYet(f"{name} inside an aggregate", span=span_of(inner), hint=hint)
            if isinstance(inner, exp.Query | exp.Exists | exp.Window):
                place = span_of(inner) or span_of(part)
                hint = "compute it as a column in a subquery, and aggregate that"
                raise NotSupportedYet(f"{inner.key.upper()} inside an aggregate", span=place, hint=hint)
            if is_changing(inner):
                raise NotSupportedYet(
                    f"{inner.sql()} inside an aggregate",
                    span=span_of(inner) or span_of(part),
                    hint="it would give other rows each time; compare with a column or a literal",
                )


def _with_filter(written: WrittenAggregate, condition: exp.Expr) -> WrittenAggregate:
    """Leave the other rows out by making their values null."""
    if find_aggregate(written.function).keeps_nulls:
        raise NotSupportedYet("FILTER on array_agg", span=span_of(written.node), hint="array_agg keeps nulls")
    check_inside([condition])
    if written.argument is None:
        return replace(written, argument=only_where(condition, exp.Literal.number(1)))
    by = None if written.by is None else only_where(condition, written.by)
    return replace(written, argument=only_where(condition, written.argument), by=by)


def only_where(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


# --- what it is over --------------------------------------------------------------------------------------


def find_members(node: exp.Expr, parts: list[exp.Expr], variables: Variables) -> tuple[str, ...]:
    """The variables whose rows an aggregate is over, empty for all rows; `parts`: what it computes of them."""
    owners: dict[str, exp.Expr | None] = {}
    for part in parts:
        owners |= {owner_of(column): _written_owner(column) for column in _columns_of(part)}
        if any(map(is_universal, part.walk())):
            owners[""] = None
    owner = _find_owner_of_rows(node)
    if owner is not None:
        owners[fold_identifier(owner)] = owner
    elif isinstance(node, exp.Filter) and isinstance(node.this.this, exp.Star | None):
        owners[""] = None  # count(*) is over all rows
    if len(owners) > 1:
        raise InvalidQuery(
            "the columns in an aggregate are of different variables",
            span=span_of(node),
            hint="an aggregate is over the rows of one variable: write the same variable, or none, in front of each",
        )
    found = next(iter(owners.values()), None)
    return variables.resolve(found) if found is not None else ()


def _written_owner(column: exp.Column) -> exp.Expr | None:
    return column if is_variable(column) else column.args.get("table")


def _find_owner_of_rows(node: exp.Expr) -> exp.Expr | None:
    """The v of count(v.*)."""
    call = node.this if isinstance(node, exp.Filter) else node
    counted = call.this if isinstance(call, exp.Count) else None
    is_star = isinstance(counted, exp.Column) and isinstance(counted.this, exp.Star)
    return counted.args.get("table") if is_star and counted is not None else None


def _columns_of(part: exp.Expr) -> list[exp.Column]:
    """Without the star of count(v.*), and what is the same in every row."""
    columns = part.find_all(exp.Column)
    return [each for each in columns if not isinstance(each.this, exp.Star) and not each.name.startswith(CONSTANT)]


def _find_column(argument: exp.Expr, source: EventInput) -> InputColumn:
    """The column that is aggregated; what is more than a column is computed by the host before matching."""
    inner = argument.unnest()
    return source.column(inner) if isinstance(inner, exp.Column) else compute_column(inner, source)


def compute_column(written: exp.Expr, source: EventInput) -> InputColumn:
    """What the host computes of one event, before events reach the pattern."""

    def spell(node: exp.Expr) -> exp.Expr:
        return write_tree(source.column(node).value) if isinstance(node, exp.Column) else node

    try:
        return source.compute(read_value(written.transform(spell)))
    except InvalidQuery as problem:
        raise InvalidQuery(problem.message, span=span_of(written), hint=problem.hint) from None


def find_decimal(node: exp.Expr, source: EventInput) -> pa.DataType | None:
    """The type of the answer of an aggregate in a condition, if it is told as a whole number of last digits."""
    written = read_aggregate(node)
    definition = find_aggregate(written.function)
    if written.argument is None or definition.gives not in ("value", "sum"):
        return None
    given = _find_column(written.argument, source).type
    return definition.type_of_answer(given) if pa.types.is_decimal(given) else None


# --- types ------------------------------------------------------------------------------------------------


def check_types(written: WrittenAggregate, column: InputColumn | None, by: InputColumn | None) -> None:
    if column is None or written.argument is None:
        return
    place = span_of(written.argument) or span_of(written.node)
    shown = written.argument.sql()
    definition = find_aggregate(written.function)
    if not definition.accepts(column.type):
        raise TypeMismatch(
            f'"{shown}" of type {column.type} is no number', span=place, hint=suggest_number(shown, column.type)
        )
    if written.of_logic and not pa.types.is_boolean(column.type):
        hint = f"compare it with something: {shown} = ..."
        raise TypeMismatch(f'"{shown}" of type {column.type} is neither true nor false', span=place, hint=hint)
    compared = by if by is not None else column
    is_compared = written.distinct or definition.family == "extreme"
    if is_compared and (pa.types.is_nested(compared.type) or pa.types.is_interval(compared.type)):
        told = "DISTINCT" if written.distinct else written.function
        hint = "take a number, a text or a time out of it in a subquery"
        raise NotSupportedYet(f"{told} over a column of type {compared.type}", span=place, hint=hint)


def suggest_number(shown: str, arrow_type: pa.DataType) -> str:
    """How to make a number of what is none."""
    if pa.types.is_timestamp(arrow_type):
        return f"write to_unixtime({shown})"
    return f"write CAST({shown} AS DOUBLE)"


def _with_kinds(
    bound: Aggregate, written: WrittenAggregate, source: EventInput, column: InputColumn | None, by: InputColumn | None
) -> Aggregate:
    """The same for a condition, where the kernel computes it and must know the kinds."""
    if "condition" not in find_aggregate(bound.function).places:
        hint = "compare one value: count, min, max, min_by or max_by"
        raise NotSupportedYet(f"{bound.function} in a condition", span=span_of(written.node), hint=hint)
    if column is None or written.argument is None:
        return bound
    if bound.function == "count" and not bound.distinct and column.kind is None:
        is_there = exp.Not(this=exp.Is(this=write_tree(column.value), expression=exp.Null()))
        counted = source.compute(read_value(only_where(is_there, exp.Literal.number(1))))
        return replace(bound, column=counted.layout, column_kind="int")
    column = _computable(column, written.argument, source, written)
    by = None if by is None or written.by is None else _computable(by, written.by, source, written)
    assert column.kind is not None, "_computable saw to it"
    return replace(
        bound,
        column=column.layout,
        column_kind=column.kind,
        kind=find_aggregate(bound.function).kind_of_answer(column.kind),
        by=by.layout if by else None,
        by_kind=by.kind if by else None,
    )


def _computable(column: InputColumn, argument: exp.Expr, source: EventInput, written: WrittenAggregate) -> InputColumn:
    """The column, if the kernel can compute with it; decimals that only literals brought in are made doubles."""
    if column.kind is not None:
        return column
    types = [source.column(inner).type for inner in _columns_of(argument)]
    gives = find_aggregate(written.function).gives
    if source.describe.dialect == "spark" and fits_whole(column.type) and gives not in ("mean", "float"):
        return source.compute(whole_value(column.value, column.type))  # who reads it puts the point back
    if pa.types.is_decimal(column.type) and not any(pa.types.is_decimal(kind) for kind in types):
        return source.compute(read_value(exp.cast(write_tree(column.value), "DOUBLE")))
    is_number = pa.types.is_decimal(column.type) or pa.types.is_integer(column.type)
    raise Uncompilable(
        argument if span_of(argument) else written.node,
        f"{written.function} over a column of type {column.type} in a condition",
        f"write CAST({argument.sql()} AS DOUBLE)" if is_number else "compute it in a subquery",
    )
