"""How deep a query may be nested: said here, before anything walks over the tree.

    a OR b OR c OR d OR ...                a chain is a tree as deep as it is long: long ones are balanced, which
                                           changes neither what they mean nor the order of what they are made of
    ((((x + 1) + 1) + 1) + 1) + ...        what is still too deep is refused with its place

Whatever comes behind the parser goes down the tree by recursion, some calls for each level.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import Span, SyntaxProblem
from cepheid.language.parsing.places import span_near

DEEPEST = 700  # calls, of the thousand that Python allows
CHAINED = (exp.Binary, exp.SetOperation)  # a level of a chain, which is read and written in a loop
CLAUSES = (exp.Select, exp.From, exp.Where, exp.Alias, exp.TableAlias, exp.Column, exp.Identifier)
OF_A_CHAIN, OF_A_CLAUSE, OF_A_NEST = 7, 2, 16
LONG_CHAIN = 16
NESTING_HINT = "name inner queries in WITH, compute a part in a subquery first, or write a long chain as x IN (...)"


def limit_depth(tree: exp.Expr) -> None:
    """Make long chains of AND and OR flat, then refuse what is nested too deeply."""
    for node in list(tree.find_all(exp.And, exp.Or)):
        if type(node.parent) is not type(node):
            _balance(node)
    depth, deepest = _measure(tree)
    if depth > DEEPEST:
        raise too_deep(span_near(deepest))


def too_deep(span: Span | None) -> SyntaxProblem:
    return SyntaxProblem("the query is nested too deeply", span=span, hint=NESTING_HINT)


def _balance(chain: exp.Connector) -> None:
    """Of a chain, the same operands in the same order under a tree that is as flat as can be."""
    operands = list(_operands(chain))
    if len(operands) >= LONG_CHAIN:
        half = len(operands) // 2
        kind = type(chain)
        chain.set("this", _join(kind, operands[:half]))
        chain.set("expression", _join(kind, operands[half:]))


def _operands(chain: exp.Connector) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [chain]
    while waiting:
        node = waiting.pop()
        if type(node) is type(chain):
            waiting += [node.args["expression"], node.args["this"]]
        else:
            found.append(node)
    return found


def _join(kind: type[exp.Connector], operands: list[exp.Expr]) -> exp.Expr:
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    return kind(this=_join(kind, operands[:half]), expression=_join(kind, operands[half:]))


def _measure(tree: exp.Expr) -> tuple[int, exp.Expr]:
    """About how many calls are under one another at the deepest node of the tree, and that node."""
    depth, deepest = 0, tree
    waiting = [(tree, 0)]
    while waiting:
        node, level = waiting.pop()
        if level > depth:
            depth, deepest = level, node
        waiting += [(child, level + _weigh(node)) for child in node.iter_expressions()]
    return depth, deepest


def _weigh(node: exp.Expr) -> int:
    if isinstance(node, CHAINED):
        return OF_A_CHAIN
    if isinstance(node, exp.Not):
        return 2 * OF_A_NEST  # between our parts it is written in parentheses
    return OF_A_CLAUSE if isinstance(node, CLAUSES) else OF_A_NEST
