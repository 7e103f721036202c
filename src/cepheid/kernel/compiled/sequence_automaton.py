"""The items of SEQ as states and edges, and all that the matcher asks about them as tables of numbers.

    SEQ(a, b+, ~c, (d | e))      start -a-> 0 -b-> 1 -b-> 1        1 -d-> match, 1 -e-> match
                                 c is watched in state 1

A run rests in a state while it waits for its next event.  A group in any order is one state: what is missing is known
by what is bound.  A repeated step has an edge to itself; if it is the last one, its state is reached by matches, which
go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.errors import NotSupportedYet
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.pattern_aggregates import tabulate_aggregates
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.expression import (
    Aggregate,
    Cell,
    Expression,
    Position,
    join_conjunction,
    list_facts,
    list_leaves,
    list_variables,
    split_conjunction,
)
from cepheid.kernel.pattern import Absent, AnyOrder, Choice, SequenceItem, SequenceProgram, Step
from cepheid.kernel.sequence_flow import Flow

NEVER = np.iinfo(np.int64).max
MOST_VARIABLES = 62
ANY, NEXT, CONTIGUOUS = range(3)

# columns of an edge
VARIABLE, TARGET, ACCEPTS, IS_LOOP, GROUP, FULL_TARGET, FULL_ACCEPTS, DONE_BEFORE, DONE_AFTER, DONE_FULL = range(10)
NOWHERE = -1  # the target of an edge whose match does not go on


class Plan(NamedTuple):
    """The program as numbers.  Variables are numbered in the order of steps; absences come behind them.

    States are numbered in the order of items; behind them come the state of matches that wait for the end of an
    absence, and the start.  Lists in rows: x[bounds[i]:bounds[i + 1]] belongs to i.
    """

    numbers: Int64s  # see MODE and what follows
    edges: npt.NDArray[np.int64]  # [edges, 10]
    edge_bounds: Int64s
    wants: Int64s  # [states + 2] bits of the variables that the edges bind
    watched: Int64s  # [states + 2] bits of the absences that an event can end here
    loops: Int64s  # [states + 2] 1: another element may come
    accepting: Int64s  # [states + 2] 1: what rests here was a match already
    repeated: Int64s  # [variables] where first elements are kept, -1 for plain steps
    condition_bounds: Int64s  # by variable and absence
    conditions: Int64s
    tests_alone: Int64s  # [variables] 1: some condition names no other variable
    condition_mask: Int64s  # [conditions] bits of the variables it names
    position_bounds: Int64s  # by condition
    positions: Int64s
    position_table: npt.NDArray[np.int64]  # [positions, 3]: variable, 1 if counted from the first, offset
    fact_bounds: Int64s  # by condition
    facts: Int64s
    fact_table: npt.NDArray[np.int64]  # [facts, 2]: aggregate, 1 if the event under test is left out
    aggregates: npt.NDArray[np.int64]  # [aggregates, 8]
    judged: npt.NDArray[np.int64]  # [absences, 5]: kind, item that decides, variables before, variables of the item
    # behind, chain


# places in Plan.numbers
(
    MODE, WITHIN, VARIABLES, STATES, PENDING, LISTS, WIDEST, KEEPS_FIRSTS, CONSUME, LIMIT, DROPS_OLDEST, TIMEOUTS,
    PLAIN_START, AT_ONCE,
) = range(14)  # fmt: skip
# kinds of absences
WATCHED, WALKED, AT_START, AT_END = range(4)


@dataclass
class _States:
    """Edges as they are found, state by state; the start has none."""

    edges: list[list[tuple[int, ...]]] = field(default_factory=list)
    items: list[int] = field(default_factory=list)  # the item that was taken last, -1 while it is incomplete
    loops: list[bool] = field(default_factory=list)
    accepting: list[bool] = field(default_factory=list)

    def add(self, item: int, loops: bool, accepting: bool) -> int:
        self.edges.append([])
        self.items.append(item)
        self.loops.append(loops)
        self.accepting.append(accepting)
        return len(self.edges) - 1


@dataclass(frozen=True)
class Automaton:
    """`plan`, and the parts of conditions that look at one event alone, by variable and absence."""

    plan: Plan
    alone: tuple[Expression | None, ...]
    streams: tuple[int, ...]
    chains: int  # how many absences keep chains of their events


def build_automaton(program: SequenceProgram, writer: CodeWriter) -> Automaton:
    asked = plan_conditions(program, writer)
    terms = program.terms
    numbers = {term.variable: number for number, term in enumerate(terms)}
    states, start = _lay_out(program, numbers)
    count = len(states.edges)
    absences = _judge_absences(program, numbers)
    has_end = any(row[0] == AT_END for row in absences)
    repeated = [step.repeated for step in program.steps]
    edges = [*states.edges, [], start]
    numbers_of_plan = {
        MODE: {"skip_till_any": ANY, "skip_till_next": NEXT}.get(program.strategy, CONTIGUOUS),
        WITHIN: NEVER if program.within is None else program.within,
        VARIABLES: len(program.steps),
        STATES: count,
        PENDING: count if has_end else -1,
        LISTS: count + has_end,
        WIDEST: max(len(group) for group in edges),
        KEEPS_FIRSTS: sum(repeated),
        CONSUME: program.consume,
        LIMIT: program.limit or 0,
        DROPS_OLDEST: program.overflow == "drop_oldest",
        TIMEOUTS: program.timeouts,
        PLAIN_START: _has_plain_start(start, repeated, asked.tables["tests_alone"]),
        AT_ONCE: _ends_at_once(program, absences),
    }
    plan = Plan(
        numbers=as_array([int(numbers_of_plan[place]) for place in range(14)]),
        edges=as_table([edge for group in edges for edge in group], 10),
        edge_bounds=as_bounds(edges),
        wants=as_array([bits(edge[VARIABLE] for edge in group) for group in edges]),
        watched=as_array([*_watch(program, states, absences), 0]),
        loops=as_array([*states.loops, False, False]),
        accepting=as_array([*states.accepting, False, False]),
        **asked.tables,
        judged=as_table(absences, 5),
    )
    chains = sum(row[0] in (WALKED, AT_START) for row in absences)
    return Automaton(plan, asked.alone, tuple(term.stream for term in terms), chains)


def _has_plain_start(start: list[tuple[int, ...]], repeated: list[bool], tests_alone: Int64s) -> bool:
    """Does a run begin by binding one event, with nothing to test and nothing else to do?"""
    variable, target, accepts, _, group = start[0][:5]
    simple = target >= 0 and not accepts and not group and not repeated[variable] and not tests_alone[variable]
    return len(start) == 1 and simple


def _ends_at_once(program: SequenceProgram, absences: list[tuple[int, ...]]) -> int:
    """Bits of the absences between items that an event ends without being held against other events."""
    joint = {name for part in program.joint for name in list_variables(part)}
    return bits(
        len(program.steps) + number
        for number, (absent, row) in enumerate(zip(program.absences, absences, strict=True))
        if row[0] == WATCHED and absent.variable not in joint
    )


def name_sequence(program: SequenceProgram) -> str:
    """The pattern in few words, for messages."""

    def show(item: SequenceItem) -> str:
        match item:
            case Step(variable=variable, repeated=repeated):
                return f"{variable}[]" if repeated else variable
            case Absent(variable=variable):
                return f"~{variable}"
            case Choice(options=steps):
                return f"({' | '.join(step.variable for step in steps)})"
            case AnyOrder(steps=steps):
                return f"({' & '.join(step.variable for step in steps)})"
        raise AssertionError(f"not an item of a sequence: {item!r}")

    return f"SEQ({', '.join(map(show, program.items))})"


# --- states and edges ------------------------------------------------------------------------------------


def _lay_out(program: SequenceProgram, numbers: dict[str, int]) -> tuple[_States, list[tuple[int, ...]]]:
    """The states with their edges, and the edges of the start."""
    states = _States()
    start: list[tuple[int, ...]] = []
    items = [item for item in program.items if not isinstance(item, Absent)]
    leaving: list[list[tuple[int, ...]]] = [start]  # edges of the states that the item before ends in
    for number, item in enumerate(items):
        is_last = number == len(items) - 1
        if isinstance(item, AnyOrder):
            leaving = _lay_out_group(item, number, is_last, states, leaving, numbers)
            continue
        steps = item.options if isinstance(item, Choice) else (item,)
        plain: int | None = None
        entered: list[list[tuple[int, ...]]] = []
        for step in steps:
            assert isinstance(step, Step), "a choice has steps"
            variable = numbers[step.variable]
            if step.repeated:
                target = states.add(number, True, is_last)
                edge = (variable, target, int(is_last), 0, 0, 0, 0, number, number + 1, 0)
                states.edges[target].append((variable, target, int(is_last), 1, 0, 0, 0, number + 1, number + 1, 0))
                entered.append(states.edges[target])
            elif is_last:
                edge = (variable, NOWHERE, 1, 0, 0, 0, 0, number, number + 1, 0)
            else:
                if plain is None:
                    plain = states.add(number, False, False)
                    entered.append(states.edges[plain])
                edge = (variable, plain, 0, 0, 0, 0, 0, number, number + 1, 0)
            for edges in leaving:
                edges.append(edge)
        leaving = entered
    return states, start


def _lay_out_group(
    item: AnyOrder,
    number: int,
    is_last: bool,
    states: _States,
    leaving: list[list[tuple[int, ...]]],
    numbers: dict[str, int],
) -> list[list[tuple[int, ...]]]:
    partial = states.add(-1, False, False)
    full = NOWHERE if is_last else states.add(number, False, False)
    group = bits(numbers[step.variable] for step in item.steps)
    for step in item.steps:
        edge = (numbers[step.variable], partial, 0, 0, group, full, int(is_last), number, number, number + 1)
        for edges in [*leaving, states.edges[partial]]:
            edges.append(edge)
    return [] if is_last else [states.edges[full]]


def _judge_absences(program: SequenceProgram, numbers: dict[str, int]) -> list[tuple[int, ...]]:
    """For each absence when it is judged, and between which variables."""
    items = [item for item in program.items if not isinstance(item, Absent)]
    members = [[step.variable for step in SequenceProgram((item,)).steps] for item in items]
    item_of = {variable: number for number, names in enumerate(members) for variable in names}
    rows: list[tuple[int, ...]] = []
    chains = 0
    place = 0
    for item in program.items:
        if not isinstance(item, Absent):
            place += 1
            continue
        parts = [part for part in program.joint if item.variable in list_variables(part)]
        named = max([-1, *(item_of[name] for part in parts for name in list_variables(part) if name in item_of)])
        if place == len(items):
            kind = AT_END
        elif place == 0:
            kind = AT_START
        else:
            kind = WATCHED if named < place else WALKED
        before = bits(numbers[name] for names in members[:place] for name in names)
        behind = bits(numbers[name] for name in members[place]) if place < len(items) else 0
        chain = chains if kind in (WALKED, AT_START) else -1
        chains += chain >= 0
        rows.append((kind, named, before, behind, chain))
    return rows


def _watch(program: SequenceProgram, states: _States, absences: list[tuple[int, ...]]) -> list[int]:
    """For each state, and that of pending matches, the bits of absences that an event can end there."""
    watched = [0] * (len(states.edges) + 1)
    place = 0
    number = 0
    for item in program.items:
        if not isinstance(item, Absent):
            place += 1
            continue
        bit = 1 << (len(program.steps) + number)
        if absences[number][0] == AT_END:
            watched[-1] |= bit
        elif absences[number][0] == WATCHED and program.strategy in ("skip_till_any", "skip_till_next"):
            for state, last in enumerate(states.items):
                watched[state] |= bit if last == place - 1 else 0
        number += 1
    return watched


# --- conditions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedConditions:
    """`alone`: of one event, by variable and absence; `tables`: those of a Plan that say what is asked of several."""

    alone: tuple[Expression | None, ...]
    tables: dict[str, Any]


def plan_conditions(program: SequenceProgram, writer: CodeWriter) -> AskedConditions:
    terms = program.terms
    if len(terms) > MOST_VARIABLES:
        raise NotSupportedYet(f"SEQ with more than {MOST_VARIABLES} terms", hint="repeat one term: bids+ b[]")
    numbers = {term.variable: number for number, term in enumerate(terms)}
    alone, shared = _split_conditions(program)
    conditions = _write_conditions(shared, numbers, writer, len(program.steps), program.flow)
    aggregates = [fact for fact in writer.facts if isinstance(fact, Aggregate)]
    kept = list(dict.fromkeys(_without_before(aggregate) for aggregate in aggregates))
    repeated = [step.repeated for step in program.steps]
    tables = conditions | {
        "repeated": as_array([sum(repeated[:number]) if again else -1 for number, again in enumerate(repeated)]),
        "fact_table": as_table([(kept.index(_without_before(fact)), fact.before) for fact in aggregates], 2),
        "aggregates": tabulate_aggregates(kept, tuple(numbers), writer),
    }
    return AskedConditions(tuple(alone), tables)


def _split_conditions(program: SequenceProgram) -> tuple[list[Expression | None], list[Expression]]:
    """What each term asks of its event alone, and the conditions that look at more."""
    alone: list[Expression | None] = []
    shared: list[Expression] = []
    for term in program.terms:
        parts = split_conjunction(term.condition)
        own = [part for part in parts if evaluates_one(part, term.variable)]
        alone.append(join_conjunction(own))
        shared += [part for part in parts if not evaluates_one(part, term.variable)]
    return alone, [*shared, *program.joint]


def evaluates_one(condition: Expression, variable: str) -> bool:
    return all(isinstance(leaf, Cell) and leaf.position == Position((variable,)) for leaf in list_leaves(condition))


def _write_conditions(
    shared: list[Expression], numbers: dict[str, int], writer: CodeWriter, steps: int, flow: Flow | None
) -> dict[str, Any]:
    for condition in shared:
        writer.add_condition(condition)
    cells = [[leaf for leaf in list_leaves(condition) if isinstance(leaf, Cell)] for condition in shared]
    named = [bits(numbers[name] for name in list_variables(condition)) for condition in shared]
    by_variable = [  # a condition that names an absent variable belongs to that absence alone
        [
            place
            for place, mask in enumerate(named)
            if (mask >> number) & 1
            and (number >= steps or not mask >> steps)
            and (flow is None or flow.is_tested_at(variable, list_variables(shared[place])))
        ]
        for variable, number in numbers.items()
    ]
    read = [list(dict.fromkeys(writer.positions[cell.position] for cell in group)) for group in cells]
    facts = [[writer.facts[fact] for fact in list_facts(condition)] for condition in shared]
    places = [
        (numbers[position.variables[0]], position.pick == "first", position.offset) for position in writer.positions
    ]
    return {
        "condition_bounds": as_bounds(by_variable),
        "conditions": as_array([place for group in by_variable for place in group]),
        "tests_alone": as_array([(1 << number) in named for number in range(steps)]),
        "condition_mask": as_array([mask & ((1 << steps) - 1) for mask in named]),
        "position_bounds": as_bounds(read),
        "positions": as_array([place for group in read for place in group]),
        "position_table": as_table(places, 3),
        "fact_bounds": as_bounds(facts),
        "facts": as_array([place for group in facts for place in group]),
    }


def _without_before(aggregate: Aggregate) -> Aggregate:
    return Aggregate(
        aggregate.function,
        aggregate.column,
        aggregate.column_kind,
        aggregate.kind,
        aggregate.variables,
        aggregate.by,
        aggregate.by_kind,
        aggregate.distinct,
    )


def bits(numbers: Any) -> int:
    return sum(1 << number for number in set(numbers))


def as_array(values: list[Any]) -> Int64s:
    return np.array(values or [0], dtype=np.int64)


def as_bounds(groups: list[Any]) -> Int64s:
    return np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)


def as_table(rows: list[Any], width: int) -> npt.NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, width)
