"""What explain tells of each pattern: its automaton, where each condition runs, and how much state a key can need.

    row_pattern_1: PATTERN (a b+ c)
      automaton
        0 consume a
        1 consume b
        2 run b
        3 consume c
        4 accept
      conditions
        b: gt(b.delay, PREV(b.delay))                columnar
        c: lt(c.delay, a.delay)                      in the matcher
      state per key: the events of 10 s

Where a condition runs:

    pushed down        the host tests it before events reach the engine
    columnar           on whole columns, for every event of a batch at once
    in the matcher     compiled, while a match is searched
    general evaluator  asked of a SQL engine while a match is searched: not compiled
    Python             a function of the user, on whole columns: not compiled
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.graph.operators import Project, RowPattern, Sequence
from cepheid.graph.predicate import Predicate
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.state_bounds import describe_bound
from cepheid.kernel.automaton import INSTRUCTION_NAMES, Automaton, build_automaton
from cepheid.kernel.condition_reach import list_labels, split_condition
from cepheid.kernel.expression import (
    Cell,
    Expression,
    HostCall,
    Position,
    list_columns,
    list_leaves,
    list_variables,
    show_expression,
    split_conjunction,
)
from cepheid.kernel.pattern import (
    Absent,
    AnyOrder,
    Choice,
    SequenceItem,
    SequenceProgram,
    Step,
    show_pattern,
)
from cepheid.kernel.sequence_flow import AT_DEADLINE, Bar, Flow, Way
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Column

WIDTH = 56


def report_patterns(graph: QueryGraph) -> str:
    """One part for each pattern of the graph; empty if it has none."""
    parts = [
        "\n".join([f"{vertex}: {_title(node)}", *(f"  {line}" for line in _report(graph, vertex, node))])
        for vertex in graph.order
        if isinstance(node := graph.vertices[vertex], RowPattern | Sequence)
    ]
    return "\n".join(["patterns:", *(f"  {line}" for part in parts for line in part.splitlines())]) if parts else ""


def _title(node: RowPattern | Sequence) -> str:
    return f"PATTERN ({show_pattern(node.program.pattern)})" if isinstance(node, RowPattern) else node.parameters()[0]


def _report(graph: QueryGraph, vertex: str, node: RowPattern | Sequence) -> Iterator[str]:
    yield "automaton"
    if isinstance(node, RowPattern):
        steps = show_automaton(build_automaton(node.program.pattern))
    else:
        steps = show_states(node.program)
    yield from (f"  {step}" for step in steps)
    conditions = list(_place_conditions(node, _computed_by_host(graph, vertex)))
    yield "conditions" if conditions else "conditions: none"
    for shown, place in conditions:
        yield f"  {shown.ljust(WIDTH)}  {place}"
    yield f"state per key: {describe_bound(node)}"


def show_automaton(automaton: Automaton) -> Iterator[str]:
    """One line per instruction."""
    names = [*automaton.variables, *automaton.absent]
    for number, (operation, first, second) in enumerate(automaton.instructions.tolist()):
        name = INSTRUCTION_NAMES[operation]
        match name:
            case "consume" | "run":
                shown = f"{name} {names[first]}{' (hidden)' if second else ''}"
            case "pass" | "until":
                shown = f"{name} no {names[first]}"
            case "span":
                shown = f"{name} no {names[first]}, as long as {second / 1e6:g} s"
            case "split":
                shown = f"split {first} {second}"
            case "jump":
                shown = f"jump {first}"
            case "check":
                shown = f"check {first}, else {second}"
            case "save":
                shown = f"save {first}"
            case _:
                shown = name
        yield f"{number} {shown}"


def show_states(program: SequenceProgram) -> Iterator[str]:
    """One line per state: what a partial match there waits for, and what must not come."""
    if program.flow is not None:
        yield from show_places(program.flow)
        return
    number, again, absent = 0, "", []
    for item in program.items:
        if isinstance(item, Absent):
            absent.append(item.variable)
            continue
        barred = f"; no {', no '.join(absent)} {'before it' if not number else 'until then'}" if absent else ""
        yield f"{number} waits for {again}{_show_needs(item)}{barred}"
        number, absent = number + 1, []
        again = f"{item.variable} again, or " if isinstance(item, Step) and item.repeated else ""
    barred = f", if no {', no '.join(absent)} comes as long as WITHIN lasts" if absent else ""
    yield f"{number} match{barred}{'; or ' + again.partition(',')[0] if again else ''}"


def show_places(flow: Flow) -> Iterator[str]:
    """One line per place: its ways, and what closes them."""
    for number, place in enumerate(flow.places):
        told = [_show_way(way) for way in place.ways]
        told += [_show_bar(bar) for bar in place.bars]
        if place.accepts:
            told.insert(0, "match")
        yield f"{number} {'; '.join(told)}"


def _show_way(way: Way) -> str:
    if way.variable is None:
        waited = "as long as WITHIN lasts" if way.after == AT_DEADLINE else f"{(way.after or 0) / 1e6:g} s"
        taken = f"waits {waited}{', again and again' if way.repeats else ''}"
    else:
        taken = {"next": "next is {}", "followed": "waits for {}", "any": "takes any {}"}[way.contiguity].format(
            way.variable
        )
        taken += f" unless it fits way {' or '.join(str(each + 1) for each in way.yields)}" if way.yields else ""
    return f"{taken} -> {way.target}"


def _show_bar(bar: Bar) -> str:
    ways = " and ".join(str(way + 1) for way in bar.ways)
    if bar.restarts:
        return f"{bar.variable} lets way {ways} wait anew"
    if bar.refuses:
        return f"{bar.variable} does not take way {ways}"
    return f"{bar.variable} {'at once ' if bar.at_once else ''}closes way {ways}"


def _show_needs(item: SequenceItem) -> str:
    match item:
        case Step(variable=variable):
            return variable
        case Choice(options=steps):
            return " or ".join(step.variable for step in steps)
        case AnyOrder(steps=steps):
            return f"{' and '.join(step.variable for step in steps)}, in any order"
    raise AssertionError(f"no positive item: {item!r}")


def _computed_by_host(graph: QueryGraph, vertex: str) -> dict[str, str]:
    """Columns of the layout that are computed, and how."""
    found: dict[str, str] = {}
    for source in graph.inputs(vertex):
        layout = graph.vertices[source]
        if isinstance(layout, Project):
            found |= {name: show_scalar(value) for name, value in layout.columns if not isinstance(value, Column)}
    return found


def _place_conditions(node: RowPattern | Sequence, computed: dict[str, str]) -> Iterator[tuple[str, str]]:
    predicates = {predicate.column: predicate for predicate in node.predicates}
    for label, part, place in _split(node):
        told = _describe_place(part, place, computed, predicates)
        shown = show_expression(part).replace("~", "")
        yield f"{label.replace('~', 'NOT ')}: {shown}", told


def _describe_place(part: Expression, place: str, computed: dict[str, str], predicates: dict[str, Predicate]) -> str:
    if isinstance(part, Cell) and part.column in predicates:
        return f"Python: {predicates[part.column].name}"
    if isinstance(part, Cell) and part.column.startswith("_p") and part.column in computed:
        return f"pushed down: {computed[part.column]}"
    if any(isinstance(leaf, HostCall) for leaf in list_leaves(part)):
        return "general evaluator"
    hoisted = [computed[column] for column in list_columns(part) if column in computed]
    return f"{place}; by the host: {', '.join(hoisted)}" if hoisted else place


def _show_term(term: Step | Absent) -> str:
    return f"NOT {term.variable}" if isinstance(term, Absent) else term.variable


def _split(node: RowPattern | Sequence) -> Iterator[tuple[str, Expression, str]]:
    if isinstance(node, RowPattern):
        program = node.program
        for label, condition in list_labels(program, build_automaton(program.pattern)).items():
            alone, others = split_condition(condition, label, program)
            yield from ((label, part, "columnar") for part in alone)
            yield from ((label, part, "in the matcher") for part in others)
        return
    for term in node.program.terms:
        own = Position((term.variable,))
        for part in split_conjunction(term.condition):
            is_columnar = all(isinstance(leaf, Cell) and leaf.position == own for leaf in list_leaves(part))
            yield _show_term(term), part, "columnar" if is_columnar else "in the matcher"
    for part in node.program.joint:
        yield ", ".join(sorted(list_variables(part))), part, "in the matcher"
