"""What is to be said about an aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import Kind
from cepheid.kernel.python_aggregate import PythonAggregate

Place = Literal["window", "measures", "condition"]
"""condition: DEFINE, and WHERE of SEQ."""

Family = Literal["count", "distinct", "sums", "variances", "extreme", "first", "last", "ranked", "list", "python"]
"""Who computes it in the compiled twin: aggregates of a family share what is held of a window."""

ANYWHERE: frozenset[Place] = frozenset(("window", "measures", "condition"))
WINDOW_ONLY: frozenset[Place] = frozenset(("window",))
KINDS: tuple[Kind, ...] = ("bool", "int", "float", "string", "time", "duration")
NUMBERS: tuple[Kind, ...] = ("int", "float")
WIDEST_DECIMAL = 38
SUM_DIGITS = 10  # more than the values have: as in Spark SQL


@dataclass(frozen=True, slots=True)
class FoldOptions:
    """What a fold may want to know: kinds of its argument and answer, the number written behind the column."""

    kind: Kind = "int"
    column_kind: Kind | None = None
    parameter: float = 0.0
    python: PythonAggregate | None = None


Fold = Callable[[Sequence[Any], FoldOptions], Any]
"""The meaning: values, oldest first, at least one.  Null is None; times and durations are ints.  An aggregate of two
columns gets pairs (value, measure)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateDefinition:
    """
    sql_names: as they are written, in capitals; takes: kinds of the column; gives: "count" (an integer), "float",
    "value" (one of the values, of their very type), "sum" (of the kind of the values), "mean" (a float; of times and
    durations one of them); gives_list: a list of such.
    keeps_nulls: null is a value; has_measure: there is a second column, by which one is chosen; parameter: what is
    written behind the column; of_none: the answer if there are no values; least_count: fewer values have none.
    mergeable: the answer for two halves can be had from what is known of each, so that panes will do.
    """

    name: str
    sql_names: tuple[str, ...]
    fold: Fold
    family: Family
    gives: Literal["count", "float", "value", "sum", "mean"]
    takes: tuple[Kind, ...] = KINDS
    places: frozenset[Place] = ANYWHERE
    gives_list: bool = False
    keeps_nulls: bool = False
    has_measure: bool = False
    parameter: Literal["share", "number"] | None = None
    of_none: int | None = None
    least_count: int = 1
    mergeable: bool = True

    def accepts(self, arrow_type: pa.DataType) -> bool:
        """Can it be computed of such a column?  Decimals are numbers, of which Arrow or whole numbers take care."""
        if len(self.takes) == len(KINDS):
            return True
        if pa.types.is_decimal(arrow_type) or pa.types.is_uint64(arrow_type):
            return "int" in self.takes
        return kind_of(arrow_type) in self.takes

    def kind_of_answer(self, column: Kind) -> Kind:
        """Of an element, where the answer is a list."""
        match self.gives:
            case "count":
                return "int"
            case "float":
                return "float"
            case "mean":
                return column if column in ("time", "duration") else "float"
        return column

    def type_of_answer(self, column: pa.DataType) -> pa.DataType:
        if self.gives_list:
            return pa.list_(column)
        match self.gives:
            case "count":
                return pa.int64()
            case "float":
                return pa.float64()
            case "value":
                return column
        if kind_of(column) in ("time", "duration"):
            return column
        if self.gives == "mean":
            return pa.float64()
        if pa.types.is_decimal(column):
            return pa.decimal128(min(column.precision + SUM_DIGITS, WIDEST_DECIMAL), column.scale)
        return pa.int64() if pa.types.is_integer(column) else pa.float64()


def fold_values(
    definition: AggregateDefinition,
    values: Sequence[Any],
    measures: Sequence[Any] | None,
    options: FoldOptions,
    distinct: bool = False,
) -> Any:
    """The aggregate of a list of values, oldest first: the meaning, for windows and patterns alike.

    measures: the second column, one for each value.
    """
    if definition.has_measure:
        assert measures is not None, f"{definition.name} has two columns"
        pairs = [(value, measure) for value, measure in zip(values, measures, strict=True) if measure is not None]
        return definition.fold(pairs, options) if pairs else definition.of_none
    known = list(values) if definition.keeps_nulls else [value for value in values if value is not None]
    if distinct:
        known = drop_equals(known)
    return definition.fold(known, options) if len(known) >= definition.least_count else definition.of_none


def drop_equals(values: Sequence[Any]) -> list[Any]:
    """Each value once, at its first place; null equals null, NaN equals NaN."""
    kept: dict[Any, Any] = {}
    for value in values:
        kept.setdefault("NaN" if isinstance(value, float) and value != value else (value,), value)
    return list(kept.values())
