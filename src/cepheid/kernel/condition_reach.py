"""How far the conditions of a row pattern look: what can be answered for whole batches, what only in the matcher.

    b AS b.x > PREV(b.x) AND b.x < a.x        columnar: b.x > PREV(b.x)     in the matcher: b.x < a.x

A condition that looks at the tested event and its neighbours only has the same answer whichever way the search came
there: such conditions are free of history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cepheid.errors import NotSupportedYet
from cepheid.kernel.automaton import Automaton
from cepheid.kernel.expression import (
    Aggregate,
    Call,
    Cell,
    Classifier,
    Constant,
    Expression,
    HostCall,
    MatchNumber,
    Position,
    list_leaves,
    split_conjunction,
)
from cepheid.kernel.pattern import RowPatternProgram
from cepheid.scalars.show import show_scalar


def list_labels(program: RowPatternProgram, automaton: Automaton) -> dict[str, Expression | None]:
    """The condition of each label: variables, then absent variables, which are written ~b."""
    conditions = dict(program.conditions)
    labels: dict[str, Expression | None] = {variable: conditions.get(variable) for variable in automaton.variables}
    visible = automaton.variables
    if automaton.absent:
        labels = {label: condition and _see_only(condition, visible) for label, condition in labels.items()}
    for variable in automaton.absent:
        condition = conditions.get(variable)
        labels[f"~{variable}"] = condition and _test_absent(condition, variable)
    return labels


def _change_leaves(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    if isinstance(expression, Call):
        arguments = tuple(_change_leaves(argument, change) for argument in expression.arguments)
        return Call(expression.function, arguments, expression.kind)
    return change(expression)


def _see_only(condition: Expression, visible: tuple[str, ...]) -> Expression:
    """Any event of the match: none of those that were passed over."""

    def change(leaf: Expression) -> Expression:
        match leaf:
            case Cell(position=position) | Classifier(position=position) if not position.variables:
                return replace(leaf, position=replace(position, variables=visible))
            case Aggregate(variables=()):
                return replace(leaf, variables=visible)
            case HostCall(arguments=arguments):
                seen = [(column, replace(at, variables=at.variables or visible)) for column, at in arguments]
                facts = tuple(
                    replace(fact, position=replace(fact.position, variables=fact.position.variables or visible))
                    if isinstance(fact, Classifier)
                    else fact
                    for fact in leaf.facts
                )
                return replace(leaf, arguments=tuple(seen), facts=facts)
        return leaf

    return _change_leaves(condition, change)


def _test_absent(condition: Expression, variable: str) -> Expression:
    """The condition of an absent variable: it has no event but the one under test."""
    tested = f"~{variable}"

    def change(leaf: Expression) -> Expression:
        match leaf:
            case Cell(position=position) | Classifier(position=position):
                is_own = position.variables == (variable,)
                if position.offset == 0 and (is_own or (not position.variables and position.pick == "last")):
                    return replace(leaf, position=Position((tested,), shift=position.shift))
                if is_own:
                    return Constant(None, leaf.kind)
                if not position.variables:
                    told = f'looking back without a variable, in the condition of "{variable}"'
                    raise NotSupportedYet(told, hint="say whose event it is, as in FIRST(a.x)")
            case HostCall():
                told = f'"{show_scalar(leaf.value)}" over several events, in the condition of NOT "{variable}"'
                raise NotSupportedYet(told, hint="apply the function to one event at a time")
            case Aggregate(variables=variables) if not variables or variable in variables:
                told = f'an aggregate over the events of "NOT {variable}"'
                raise NotSupportedYet(told, hint="aggregate over another variable, as in sum(a.x)")
        return leaf

    return _change_leaves(condition, change)


def split_condition(
    condition: Expression | None, label: str, program: RowPatternProgram
) -> tuple[list[Expression], list[Expression]]:
    """The parts that are answered for whole batches, and those that are tested while a match is searched."""
    parts = split_conjunction(condition)
    alone = [part for part in parts if is_columnar(part, label, framed=program.frame is not None)]
    return alone, [part for part in parts if part not in alone]


def is_columnar(condition: Expression, label: str, framed: bool) -> bool:
    """Does the condition look at the tested event and events before it only?  (In a frame PREV stops at its start.)"""
    return is_history_free(condition, label) and all(
        isinstance(leaf, Cell) and (leaf.position.shift == 0 or (leaf.position.shift < 0 and not framed))
        for leaf in list_leaves(condition)
    )


def is_history_free(condition: Expression, label: str) -> bool:
    """Does the condition look only at the tested event and its neighbours in the partition?"""
    return all(
        isinstance(leaf, MatchNumber)
        or (isinstance(leaf, Cell) and is_tested(leaf.position, label))
        or (
            isinstance(leaf, HostCall)
            and not leaf.facts
            and all(is_tested(position, label) for _, position in leaf.arguments)
        )
        for leaf in list_leaves(condition)
    )


def is_tested(position: Position, label: str) -> bool:
    """Is the position counted from the event under test?"""
    own = not position.variables or label in position.variables
    return position.pick == "last" and position.offset == 0 and own
