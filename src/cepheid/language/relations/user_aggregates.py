"""Aggregates of the user in what is left to the host, which does not know them: a function of the list of their values.

median_of(x) FILTER (WHERE y > 1)     =>  median_of__0123456789ab(array_agg(x) FILTER (WHERE y > 1))
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.language.parsing.places import span_of
from cepheid.user_functions import make_list_functions


def gather_values(tree: exp.Expr, python: Mapping[str, PythonAggregate]) -> exp.Expr:
    """The tree, changed in place; python: by name in lower case."""
    if not python:
        return tree
    functions = make_list_functions(python)
    for call in list(tree.find_all(exp.Anonymous)):
        name = call.name.lower() if isinstance(call.this, str) else ""
        if name not in functions:
            continue
        if len(call.expressions) != 1:
            told = f'"{call.name}" is called with {len(call.expressions)} arguments, not one'
            raise InvalidQuery(told, span=span_of(call), hint=f"it is an aggregate of yours: {call.name}(x)")
        whole: exp.Expr = call
        while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
            whole = whole.parent
        of_lists = exp.Anonymous(this=functions[name].identify(name))
        of_lists.meta.update(call.meta)
        is_tree = whole is tree
        if not is_tree:
            whole.replace(of_lists)
        gathered = exp.ArrayAgg(this=call.expressions[0])
        if call is not whole:
            call.replace(gathered)
        of_lists.append("expressions", gathered if call is whole else whole)
        tree = of_lists if is_tree else tree
    return tree


def refuse_in_conditions(condition: exp.Expr | None, python: Mapping[str, PythonAggregate]) -> None:
    """The kernel of sequences tests conditions while it searches, and does not call Python."""
    for call in condition.find_all(exp.Anonymous) if condition is not None and python else ():
        if isinstance(call.this, str) and call.name.lower() in python:
            raise NotSupportedYet(
                f'"{call.name}", an aggregate of yours, in WHERE of SEQ',
                span=span_of(call),
                hint=f"select {call.name}(b[].x) and ask in a query around, or write it as MATCH_RECOGNIZE",
            )
