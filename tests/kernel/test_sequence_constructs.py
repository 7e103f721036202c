"""Worked examples of SEQ, on both twins: each expected match was found by hand from the rules.

A script is one letter per event, at times 0, 1, 2, ...  An event fits a variable if its letter is the variable's name,
or among the letters written behind it: `step("b", "bx")`.  A match is told as "a0 b1 b3".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cepheid.errors import PatternTooCostly
from cepheid.event_time import BEGINNING, END
from cepheid.kernel.columns import Column, Events, Interner
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.expression import Aggregate, Call, Cell, Constant, Expression, Position
from cepheid.kernel.matches import TIMED_OUT, Matches
from cepheid.kernel.pattern import Absent, AnyOrder, Choice, SequenceItem, SequenceProgram, Step, Strategy
from cepheid.kernel.reference.operators import ReferenceSequence

ANY: Strategy = "skip_till_any"
NEXT: Strategy = "skip_till_next"
STRICT: Strategy = "strict"


def is_one_of(variable: str, letters: str) -> Expression:
    x = Cell("x", "int", Position((variable,)))
    tests = tuple(Call("eq", (x, Constant(ord(letter), "int")), "bool") for letter in letters)
    return tests[0] if len(tests) == 1 else Call("or", tests, "bool")


def step(variable: str, letters: str | None = None) -> Step:
    return Step(variable, 0, is_one_of(variable, letters or variable))


def many(variable: str, letters: str | None = None) -> Step:
    return Step(variable, 0, is_one_of(variable, letters or variable), repeated=True)


def no(variable: str, letters: str | None = None) -> Absent:
    return Absent(variable, 0, is_one_of(variable, letters or variable))


def read_events(script: str, at: Sequence[int] | None = None) -> Events:
    times = np.array(at if at is not None else range(len(script)), dtype=np.int64)
    letters = np.array([ord(letter) for letter in script], dtype=np.int64)
    return Events(times, np.zeros(len(script), dtype=np.int64), {"x": Column(letters), "t": Column(times)})


def tell(found: Matches) -> list[str]:
    told = []
    for number, (begin, end) in enumerate(zip(found.begins, found.ends, strict=True)):
        pairs = zip(found.labels[begin:end], found.events[begin:end], strict=True)
        late = found.fates is not None and found.fates[number] == TIMED_OUT
        told.append(" ".join(f"{found.variables[label]}{event}" for label, event in pairs) + (" late" if late else ""))
    return sorted(told)


def find(program: SequenceProgram, script: str, at: Sequence[int] | None = None) -> list[str]:
    """What both twins find, the compiled one event by event too."""
    expected = tell(ReferenceSequence(program, Interner()).step(read_events(script, at), END, final=True))
    assert tell(CompiledSequence(program, Interner()).step(read_events(script, at), END, final=True)) == expected
    operator = CompiledSequence(program, Interner())
    single = []
    for place, letter in enumerate(script):
        time = place if at is None else at[place]
        single += tell(operator.step(read_events(letter, [time]), time))
    assert sorted(single + tell(operator.step(read_events(""), END, final=True))) == expected
    return expected


REPEATED = [
    ("abbc", NEXT, ["a0 b1 b2 c3"]),
    ("abbc", ANY, ["a0 b1 b2 c3", "a0 b1 c3", "a0 b2 c3"]),
    ("abxbc", NEXT, ["a0 b1 b3 c4"]),
    ("abxbc", STRICT, []),
    ("abbc", STRICT, ["a0 b1 b2 c3"]),
    ("ac", NEXT, []),
    ("abcbc", NEXT, ["a0 b1 c2"]),
]


@pytest.mark.parametrize(("script", "strategy", "expected"), REPEATED)
def test_repeated_term_takes_what_fits(script: str, strategy: Strategy, expected: list[str]) -> None:
    assert find(SequenceProgram((step("a"), many("b"), step("c")), strategy=strategy), script) == expected


def test_event_that_fits_closure_and_next_splits_the_run() -> None:
    program = SequenceProgram((step("a"), many("b", "bx"), step("c", "cx")))
    assert find(program, "abxc") == ["a0 b1 b2 c3", "a0 b1 c2"]


def test_repeated_term_at_the_end_is_complete_at_each_element() -> None:
    assert find(SequenceProgram((step("a"), many("b"))), "abxb") == ["a0 b1", "a0 b1 b3"]


def test_repeated_term_at_the_start_begins_at_each_element() -> None:
    assert find(SequenceProgram((many("b"), step("c"))), "bbc") == ["b0 b1 c2", "b1 c2"]


@pytest.mark.parametrize(
    ("script", "strategy", "expected"),
    [
        ("ac", NEXT, ["a0 c1"]),
        ("abc", NEXT, []),
        ("abac", NEXT, ["a2 c3"]),
        ("abac", ANY, ["a2 c3"]),
        ("axc", STRICT, []),
        ("ac", STRICT, ["a0 c1"]),
    ],
)
def test_absence_between(script: str, strategy: Strategy, expected: list[str]) -> None:
    assert find(SequenceProgram((step("a"), no("b"), step("c")), strategy=strategy), script) == expected


def test_absence_behind_a_repeated_term_is_asked_after_its_last_element() -> None:
    program = SequenceProgram((step("a"), many("b"), no("n"), step("c")))
    assert find(program, "abnbc") == ["a0 b1 b3 c4"]
    assert find(program, "abbnc") == []


def test_absence_never_makes_a_run_look_for_other_events() -> None:
    """The first c is taken, although the n before it forbids it; the second c is not tried."""
    program = SequenceProgram((step("a"), no("n"), step("c")))
    assert find(program, "ancc") == []


def test_absence_may_be_held_against_a_later_event() -> None:
    """An n only counts if it is more than 2 before the c."""
    early = Call(
        "lt",
        (
            Cell("t", "int", Position(("n",))),
            Call("sub", (Cell("t", "int", Position(("c",))), Constant(2, "int")), "int"),
        ),
        "bool",
    )
    program = SequenceProgram((step("a"), no("n"), step("c")), joint=(early,))
    assert find(program, "axnc") == ["a0 c3"]
    assert find(program, "anxxc") == []


@pytest.mark.parametrize(
    ("script", "at", "expected"),
    [
        ("ab", (0, 1), ["a0 b1"]),
        ("abn", (0, 1, 10), []),
        ("abn", (0, 1, 11), ["a0 b1"]),
        ("anb", (0, 1, 2), ["a0 b2"]),
    ],
)
def test_absence_at_the_end_lasts_until_the_first_time_plus_within(
    script: str, at: tuple[int, ...], expected: list[str]
) -> None:
    assert find(SequenceProgram((step("a"), step("b"), no("n")), within=10), script, at) == expected


@pytest.mark.parametrize(
    ("script", "at", "expected"),
    [
        ("nab", (0, 1, 10), []),
        ("nab", (0, 1, 11), ["a1 b2"]),
        ("anb", (0, 1, 2), ["a0 b2"]),
    ],
)
def test_absence_at_the_start_reaches_back_from_the_last_event(
    script: str, at: tuple[int, ...], expected: list[str]
) -> None:
    assert find(SequenceProgram((no("n"), step("a"), step("b")), within=10), script, at) == expected


def test_absence_at_the_end_is_proved_by_the_horizon_alone() -> None:
    operator = CompiledSequence(SequenceProgram((step("a"), no("n")), within=10), Interner())
    assert tell(operator.step(read_events("a"), 0)) == []
    assert tell(operator.step(read_events(""), 10)) == []
    assert tell(operator.step(read_events(""), 11)) == ["a0"]


@pytest.mark.parametrize(
    ("script", "strategy", "expected"),
    [
        ("ab", NEXT, ["a0 b1"]),
        ("ac", NEXT, ["a0 c1"]),
        ("ax", NEXT, ["a0 b1"]),
        ("ax", ANY, ["a0 b1", "a0 c1"]),
    ],
)
def test_one_of_several(script: str, strategy: Strategy, expected: list[str]) -> None:
    items: tuple[SequenceItem, ...] = (step("a"), Choice((step("b", "bx"), step("c", "cx"))))
    assert find(SequenceProgram(items, strategy=strategy), script) == expected


@pytest.mark.parametrize(
    ("script", "strategy", "expected"),
    [
        ("abcd", NEXT, ["a0 b1 c2 d3"]),
        ("acbd", NEXT, ["a0 c1 b2 d3"]),
        ("abxcd", STRICT, []),
        ("abbcd", ANY, ["a0 b1 c3 d4", "a0 b2 c3 d4"]),
        ("abd", NEXT, []),
    ],
)
def test_any_order(script: str, strategy: Strategy, expected: list[str]) -> None:
    items: tuple[SequenceItem, ...] = (step("a"), AnyOrder((step("b"), step("c"))), step("d"))
    assert find(SequenceProgram(items, strategy=strategy), script) == expected


def test_event_binds_the_first_written_of_a_group_unless_every_combination_is_wanted() -> None:
    items: tuple[SequenceItem, ...] = (AnyOrder((step("b", "xb"), step("c", "xc"))),)
    assert find(SequenceProgram(items), "xx") == ["b0 c1"]
    assert find(SequenceProgram(items, strategy="skip_till_any"), "xx") == ["b0 c1", "c0 b1"]


def test_condition_on_an_unbound_alternative_says_nothing() -> None:
    never = Call("gt", (Cell("x", "int", Position(("b",))), Cell("x", "int", Position(("d",)))), "bool")
    items: tuple[SequenceItem, ...] = (Choice((step("b"), step("c"))), step("d"))
    assert find(SequenceProgram(items, joint=(never,)), "bcd") == ["c1 d2"]


def test_consumed_events_are_in_one_match_only() -> None:
    plain = (step("a"), step("b"))
    assert find(SequenceProgram(plain), "aabb") == ["a0 b2", "a1 b2"]
    assert find(SequenceProgram(plain, consume=True), "aabb") == ["a0 b2", "a1 b3"]
    assert find(SequenceProgram(plain, strategy="skip_till_any", consume=True), "abb") == ["a0 b1"]


def test_consumption_ends_partial_matches_that_hold_an_event() -> None:
    program = SequenceProgram((step("a"), many("b"), step("c")), consume=True)
    assert find(program, "aabcbc") == ["a0 b2 c3"]


def test_limit_drops_the_oldest_and_counts() -> None:
    program = SequenceProgram((step("a"), step("b")), limit=2, overflow="drop_oldest")
    assert find(program, "aaab") == ["a1 b3", "a2 b3"]
    operator = CompiledSequence(program, Interner())
    operator.step(read_events("aaaaab"), 0)
    assert (operator.take_dropped(), operator.take_dropped()) == (3, 0)


@pytest.mark.parametrize("twin", [CompiledSequence, ReferenceSequence])
def test_limit_refuses(twin: type[CompiledSequence] | type[ReferenceSequence]) -> None:
    program = SequenceProgram((step("a"), step("b")), limit=2)
    with pytest.raises(PatternTooCostly, match="more than 2 partial matches of one key"):
        twin(program, Interner()).step(read_events("aaa"), 0, final=True)


@pytest.mark.parametrize(
    ("script", "at", "expected"),
    [
        ("ab", (0, 1), ["a0 b1 late"]),
        ("abc", (0, 1, 2), ["a0 b1 c2"]),
        ("abx", (0, 1, 20), ["a0 b1 late"]),
        ("abc", (0, 1, 20), ["a0 b1 late"]),
    ],
)
def test_timeouts_tell_what_was_bound(script: str, at: tuple[int, ...], expected: list[str]) -> None:
    program = SequenceProgram((step("a"), step("b"), step("c")), within=10, timeouts=True)
    assert find(program, script, at) == expected


def test_no_timeout_where_an_absence_failed() -> None:
    program = SequenceProgram((step("a"), no("n"), step("b")), within=10, timeouts=True)
    assert find(program, "an") == []
    assert find(program, "ax") == ["a0 late"]


def test_conditions_read_elements_before_and_their_aggregates() -> None:
    x, before = Cell("x", "int", Position(("b",))), Cell("x", "int", Position(("b",), "last", 1))
    count = Aggregate("count", None, variables=("b",), before=True)
    rises = Call("or", (Call("lt", (count, Constant(1, "int")), "bool"), Call("gt", (x, before), "bool")), "bool")
    program = SequenceProgram((Step("b", 0, rises, repeated=True), step("z")))
    assert find(program, "acbz") == ["b0 b1 z3", "b1 z3", "b2 z3"]
    few = Call("lt", (Aggregate("count", None, variables=("b",)), Constant(3, "int")), "bool")
    assert find(SequenceProgram((Step("b", 0, few, repeated=True), step("z"))), "aaaz")[0] == "b0 b1 z3"


def test_too_many_sequences_are_refused_before_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.kernel.compiled.sequence_pool.MOST_CELLS", 10_000)
    program = SequenceProgram((step("a"), many("b"), step("c")), strategy="skip_till_any")
    with pytest.raises(PatternTooCostly, match=r"SEQ\(a, b\[\], c\)"):
        CompiledSequence(program, Interner()).step(read_events("a" + "b" * 30), BEGINNING)
