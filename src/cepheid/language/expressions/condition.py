"""A condition to a kernel expression, by the rules of the dialect that it is written in."""

from __future__ import annotations

from sqlglot import exp

from cepheid.kernel.expression import Expression
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.expressions.scalar import BindFact, ReadFact, Resolve, ScalarBinder
from cepheid.language.expressions.scope import EventInput
from cepheid.language.expressions.spark_scalar import SparkScalarBinder


def bind_condition(
    written: exp.Expr,
    types: HostTypes,
    resolve: Resolve,
    bind_fact: BindFact | None = None,
    *,
    source: EventInput | None = None,
    read_fact: ReadFact | None = None,
    tested: str | None = None,
) -> Expression:
    """`resolve` gives the meaning of columns, `bind_fact` that of what is about the match; source: the only input;
    read_fact: for functions of several events, which may go to the general evaluator then; tested: the variable whose
    event is under test."""
    if types.dialect == "spark":
        return SparkScalarBinder(resolve, types, bind_fact, read_fact is not None, tested).condition(written)
    return ScalarBinder(resolve, bind_fact, source, read_fact).condition(written)
