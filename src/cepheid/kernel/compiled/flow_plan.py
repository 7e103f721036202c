"""The places and ways of a SEQ whose steps follow one another in ways of their own, as tables of numbers.

It is a Plan like that of sequence_automaton.py, so that conditions, elements and sums are those of all runs; but what
is written in `edges`, `watched`, `loops` and `judged` is said here.
"""

from __future__ import annotations

from cepheid.errors import NotSupportedYet
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.sequence_automaton import (
    KEEPS_FIRSTS,
    LISTS,
    NEVER,
    PENDING,
    STATES,
    TIMEOUTS,
    VARIABLES,
    WIDEST,
    WITHIN,
    Automaton,
    Plan,
    as_array,
    as_bounds,
    as_table,
    bits,
    plan_conditions,
)
from cepheid.kernel.pattern import SequenceProgram
from cepheid.kernel.sequence_flow import Bar, Place, Way

MOST_WAYS = 62  # from one place, and kinds of them that close together

# columns of an edge: a way
STEP, TARGET, AFTER, CONTIGUITY, SCOPE, YIELDS, KEEPS_MOMENT, REPEATS, RESTART, UNBINDS = range(10)
NONE, UNTIL_DEADLINE = -1, -2  # of AFTER
NEXT, FOLLOWED, ANY = range(3)
# columns of what is judged: a bar
ABSENT, WAYS, FIRST_ONLY, BEFORE, REFUSES, RESTARTS = range(6)
# places in Plan.numbers behind those of all plans
BEGINS, ASKS_FOR_ALL = 14, 15
ALWAYS, AGAIN, ONCE, AT_FIRST = range(4)


def build_flow(program: SequenceProgram, writer: CodeWriter) -> Automaton:
    """`watched` are the bounds of the bars of each place, `loops` says where an attempt is under way."""
    flow = program.flow
    assert flow is not None, "the program has a flow"
    asked = plan_conditions(program, writer)
    numbers = {term.variable: number for number, term in enumerate(program.terms)}
    widest = max(len(place.ways) for place in flow.places)
    scopes = {way.scope for place in flow.places for way in place.ways}
    if widest > MOST_WAYS or max(scopes, default=0) >= MOST_WAYS:
        raise NotSupportedYet(
            f"SEQ with more than {MOST_WAYS} ways on from one event", hint="make fewer steps optional in a row"
        )
    said = {
        WITHIN: NEVER if program.within is None else program.within,
        VARIABLES: len(program.steps),
        STATES: len(flow.places),
        PENDING: -1,
        LISTS: 1,
        WIDEST: widest,
        TIMEOUTS: program.timeouts,
        KEEPS_FIRSTS: sum(step.repeated for step in program.steps),
        BEGINS: {"always": ALWAYS, "again": AGAIN, "once": ONCE, "first": AT_FIRST}[flow.begins],
        ASKS_FOR_ALL: flow.asks_for_all,
    }
    plan = Plan(
        numbers=as_array([int(said.get(place, 0)) for place in range(16)]),
        edges=as_table([_write_way(way, numbers) for place in flow.places for way in place.ways], 10),
        edge_bounds=as_bounds([place.ways for place in flow.places]),
        wants=as_array([_list_wanted(place, numbers) for place in flow.places]),
        watched=as_bounds([place.bars for place in flow.places]),
        loops=as_array([place.inside or flow.begins == "once" for place in flow.places]),
        accepting=as_array([place.accepts for place in flow.places]),
        **asked.tables,
        judged=as_table([_write_bar(bar, numbers) for place in flow.places for bar in place.bars], 6),
    )
    return Automaton(plan, asked.alone, tuple(term.stream for term in program.terms), 0)


def _write_way(way: Way, numbers: dict[str, int]) -> tuple[int, ...]:
    after = NONE if way.after is None else UNTIL_DEADLINE if way.after < 0 else way.after
    return (
        -1 if way.variable is None else numbers[way.variable],
        way.target,
        after,
        {"next": NEXT, "followed": FOLLOWED, "any": ANY}[way.contiguity],
        way.scope,
        bits(way.yields),
        way.keeps_moment,
        way.repeats,
        -1 if way.restart is None else way.restart,
        bits(numbers[name] for name in way.variables),
    )


def _write_bar(bar: Bar, numbers: dict[str, int]) -> tuple[int, ...]:
    return numbers[bar.variable], bits(bar.ways), bar.at_once, bar.before, bar.refuses, bar.restarts


def _list_wanted(place: Place, numbers: dict[str, int]) -> int:
    """Bits of the variables that events can be there, or must not be."""
    named = [way.variable for way in place.ways if way.variable is not None] + [bar.variable for bar in place.bars]
    return bits(numbers[name] for name in named)
