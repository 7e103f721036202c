"""Worked examples for the reference twin: each expected match was found by hand from the rules.

A step_list is one letter per row.  A variable holds for the rows whose letter is in its name ("a", or "ab" for
either); a name that begins with "_" has no condition.  "0 a a b" reads: starts at row 0, labels a, a, b.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.kernel.expression import FUNCTIONS, Call, Cell, Constant, Expression, Kind, Position
from cepheid.kernel.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    EmptyPattern,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    RowPatternProgram,
    SequenceProgram,
    Skip,
    Step,
    Strategy,
    Term,
    list_terms,
    show_pattern,
)
from cepheid.kernel.reference.evaluate import OF_NULLS_TOO, OF_VALUES, Row, Value, evaluate
from cepheid.kernel.reference.row_pattern import RowMatch, find_matches
from cepheid.kernel.reference.sequence import find_sequences

NAN = math.nan
START, END, EMPTY = Anchor("start"), Anchor("end"), EmptyPattern()
PAST_LAST = Skip()


def build(part: RowPattern | str) -> RowPattern:
    return Term(part) if isinstance(part, str) else part


def seq(*parts: RowPattern | str) -> Concatenation:
    return Concatenation(tuple(map(build, parts)))


def either(*parts: RowPattern | str) -> Alternation:
    return Alternation(tuple(map(build, parts)))


def permute(*parts: str) -> Permutation:
    return Permutation(tuple(map(build, parts)))


def times(part: RowPattern | str, least: int, most: int | None) -> Repetition:
    return Repetition(build(part), least, most)


def star(part: RowPattern | str) -> Repetition:
    return times(part, 0, None)


def plus(part: RowPattern | str) -> Repetition:
    return times(part, 1, None)


def maybe(part: RowPattern | str) -> Repetition:
    return times(part, 0, 1)


def lazy(repetition: Repetition) -> Repetition:
    return replace(repetition, greedy=False)


def call(function: str, *arguments: Expression, kind: Kind = "bool") -> Call:
    return Call(function, arguments, kind)


def x(variables: str = "", pick: Literal["first", "last"] = "last", offset: int = 0, shift: int = 0) -> Cell:
    return Cell("x", "float", Position(tuple(variables), pick, offset, shift))


def number(value: float | None) -> Constant:
    return Constant(value, "float")


def has_letter_of(variable: str) -> Expression:
    tests = [call("eq", Cell("letter", "string"), Constant(letter, "string")) for letter in variable]
    return tests[0] if len(tests) == 1 else call("or", *tests)


def define_by_letters(pattern: RowPattern) -> tuple[tuple[str, Expression], ...]:
    names = dict.fromkeys(term.variable for term in list_terms(pattern))
    return tuple((name, has_letter_of(name)) for name in names if not name.startswith("_"))


def spell(step_list: str) -> list[Row]:
    return [{"letter": letter} for letter in step_list]


def show_match(match: RowMatch) -> str:
    assert match.rows == tuple(range(match.start, match.start + len(match.labels)))
    return " ".join((str(match.start), *match.labels))


def find_in_script(
    pattern: RowPattern | str,
    step_list: str,
    skip: Skip = PAST_LAST,
    within: int | None = None,
    at: Sequence[int] | None = None,
) -> list[str]:
    program = RowPatternProgram(build(pattern), define_by_letters(build(pattern)), skip, within)
    return [show_match(match) for match in find_matches(program, spell(step_list), at or range(len(step_list)))]


PREFERENCE: list[tuple[RowPattern, str, list[str]]] = [
    (seq("a", "b"), "aab", ["1 a b"]),
    (plus("a"), "aab", ["0 a a"]),
    (seq("a", "_", "a"), "aba", ["0 a _ a"]),
    (seq(star("a"), "ab"), "aaa", ["0 a a ab"]),
    (seq(lazy(star("a")), "ab"), "aaa", ["0 ab", "1 ab", "2 ab"]),
    (seq(lazy(plus("a")), "b"), "aab", ["0 a a b"]),
    (seq(maybe("a"), "ab"), "aa", ["0 a ab"]),
    (seq(maybe("a"), "ab"), "a", ["0 ab"]),
    (seq(lazy(maybe("a")), "ab"), "aa", ["0 ab", "1 ab"]),
    (either("a", "ab"), "ab", ["0 a", "1 ab"]),
    (either("ab", "a"), "ab", ["0 ab", "1 ab"]),
    (either("a", seq("a", "b")), "ab", ["0 a"]),
    (either(seq("a", "b"), "a"), "ab", ["0 a b"]),
    (seq(either("a", seq("a", "b")), "c"), "abc", ["0 a b c"]),
    (times("a", 2, 2), "aaa", ["0 a a"]),
    (times("a", 2, 3), "aaaaa", ["0 a a a", "3 a a"]),
    (lazy(times("a", 2, 3)), "aaaaa", ["0 a a", "2 a a"]),
    (seq(times("a", 2, None), "ab"), "aaa", ["0 a a ab"]),
    (seq(times("a", 0, 0), "b"), "ab", ["1 b"]),
    (plus(seq("a", plus("b"))), "abbabc", ["0 a b b a b"]),
    (seq(star(either("a", "b")), "c"), "abac", ["0 a b a c"]),
    (plus(either("a", "ab")), "aba", ["0 a ab a"]),
    (plus(either("ab", "a")), "aba", ["0 ab ab ab"]),
    (plus(seq("a", maybe("ab"))), "aab", ["0 a ab"]),
    (plus(seq("a", lazy(maybe("ab")))), "aab", ["0 a a"]),
    (seq(lazy(star(either("a", "_"))), "b"), "aab", ["0 a a b"]),
    (permute("a", "b"), "baab", ["0 b a", "2 a b"]),
    (permute("ab", "a"), "aa", ["0 ab a"]),
    (permute("ab", "a"), "ab", ["0 a ab"]),
    (permute("a", "b", "c"), "cab", ["0 c a b"]),
    (seq("a", Exclusion(plus("b")), "c"), "abbc", ["0 a b b c"]),
    (seq(START, "a"), "aa", ["0 a"]),
    (seq("a", END), "aba", ["2 a"]),
    (seq(star(START), "a"), "ba", ["1 a"]),
]

EMPTINESS: list[tuple[RowPattern, str, list[str]]] = [
    (star("a"), "", []),
    (star("a"), "a", ["0 a"]),
    (star("a"), "ba", ["0", "1 a"]),
    (maybe("a"), "bb", ["0", "1"]),
    (lazy(star("a")), "aa", ["0", "1"]),
    (EMPTY, "ab", ["0", "1"]),
    (seq("a", EMPTY, "b"), "ab", ["0 a b"]),
    (either(EMPTY, "a"), "a", ["0"]),
    (star(EMPTY), "a", ["0"]),
    (star(maybe("a")), "aab", ["0 a a", "2"]),
    (star(star("a")), "aab", ["0 a a", "2"]),
    # An iteration is preferred, the iteration prefers to be empty, and an empty one is the last.
    (star(lazy(maybe("a"))), "aa", ["0", "1"]),
    (seq(star(lazy(maybe("a"))), "b"), "aab", ["0 a a b"]),
    (star(either(star("a"), "b")), "abba", ["0 a", "1", "2", "3 a"]),
    (star(either("b", star("a"))), "abba", ["0 a b b a"]),
    (seq(star(either(star("a"), "b")), "c"), "abbac", ["0 a b b a c"]),
    (lazy(star(maybe("a"))), "aa", ["0", "1"]),
    (seq(lazy(star(maybe("a"))), "b"), "aab", ["0 a a b"]),
    (plus(lazy(maybe("a"))), "a", ["0"]),
    (times(lazy(maybe("a")), 2, None), "aa", ["0", "1"]),
    (seq(times(lazy(maybe("a")), 2, 2), "b"), "ab", ["0 a b"]),
    (times(maybe("a"), 3, None), "a", ["0 a"]),
    (times(maybe("a"), 2, 4), "aaaaaa", ["0 a a a a", "4 a a"]),
    (seq(star(seq(star("a"), star("b"))), "c"), "abac", ["0 a b a c"]),
]


@pytest.mark.parametrize(("pattern", "step_list", "expected"), PREFERENCE + EMPTINESS)
def test_preferred_match_is_found_from_each_start(pattern: RowPattern, step_list: str, expected: list[str]) -> None:
    assert find_in_script(pattern, step_list) == expected, show_pattern(pattern)


THREE = seq("_", "_1", "_2")
SKIPPING: list[tuple[RowPattern, str, Skip, list[str]]] = [
    (seq("a", "a"), "aaaa", Skip("past_last"), ["0 a a", "2 a a"]),
    (seq("a", "a"), "aaaa", Skip("to_next"), ["0 a a", "1 a a", "2 a a"]),
    (seq("a", "b", "a"), "ababa", Skip("to_last", ("a",)), ["0 a b a", "2 a b a"]),
    (seq("ab", plus("b")), "abbb", Skip("to_first", ("b",)), ["0 ab b b b", "1 ab b b", "2 ab b"]),
    (seq("ab", plus("b")), "abbb", Skip("to_last", ("b",)), ["0 ab b b b"]),
    (THREE, "aaaaa", Skip("to_first", ("_2",)), ["0 _ _1 _2", "2 _ _1 _2"]),
    (THREE, "aaaaa", Skip("to_first", ("_1", "_2")), ["0 _ _1 _2", "1 _ _1 _2", "2 _ _1 _2"]),
    (THREE, "aaaaa", Skip("to_last", ("_1", "_2")), ["0 _ _1 _2", "2 _ _1 _2"]),
    (star(seq("a", "b")), "xab", Skip("to_last", ("b",)), ["0", "1 a b", "2"]),
    (star("a"), "bab", Skip("to_next"), ["0", "1 a", "2"]),
]


@pytest.mark.parametrize(("pattern", "step_list", "skip", "expected"), SKIPPING)
def test_search_goes_on_where_skip_says(pattern: RowPattern, step_list: str, skip: Skip, expected: list[str]) -> None:
    assert find_in_script(pattern, step_list, skip) == expected


@pytest.mark.parametrize(
    ("pattern", "step_list", "skip", "message"),
    [
        (
            seq("a", maybe("b")),
            "ac",
            Skip("to_first", ("b",)),
            "SKIP TO FIRST b: .* row 1 .* no row to skip to",
        ),
        (seq("a", maybe("b")), "xac", Skip("to_last", ("b", "c")), r"SKIP TO LAST b \| c: .* row 2 "),
        (seq("a", "b"), "ab", Skip("to_first", ("a",)), "would be found again"),
        (plus("a"), "ab", Skip("to_last", ("a",)), "would be found again"),
    ],
)
def test_skip_without_a_later_row_is_an_error(pattern: RowPattern, step_list: str, skip: Skip, message: str) -> None:
    with pytest.raises(MatchFailure, match=message) as caught:
        find_in_script(pattern, step_list, skip)
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("pattern", "step_list", "at", "within", "expected"),
    [
        (seq("a", plus("b")), "abb", (0, 10, 20), 20, ["0 a b b"]),
        (seq("a", plus("b")), "abb", (0, 10, 20), 10, ["0 a b"]),
        (seq("a", plus("b")), "abb", (0, 10, 20), 9, []),
        (seq("a", plus("b")), "abb", (5, 5, 5), 0, ["0 a b b"]),
        (seq(star("_"), "b"), "aabb", (0, 1, 2, 3), 2, ["0 _ _ b", "3 b"]),
        # The same place in the pattern fails for the first row and succeeds for the second.
        (seq(star("a"), "b"), "aab", (0, 1, 2), 1, ["1 a b"]),
    ],
)
def test_within_counts_from_the_first_row_and_includes_its_bound(
    pattern: RowPattern, step_list: str, at: tuple[int, ...], within: int, expected: list[str]
) -> None:
    assert find_in_script(pattern, step_list, within=within, at=at) == expected


AFTER_B_OR_TWO_A = call("or", call("ge", x("b"), number(0)), call("ge", x("a", offset=1), number(0)))
NAVIGATION: list[tuple[RowPattern, Mapping[str, Expression], list[float | None], list[str]]] = [
    (seq("s", plus("d")), {"d": call("lt", x(), x(shift=-1))}, [3, 2, 1, 5], ["0 s d d"]),
    (plus("d"), {"d": call("lt", x(), x(shift=-1))}, [3, 2], ["1 d"]),
    (plus("d"), {"d": call("is_null", x(shift=-2))}, [3, 2, 1], ["0 d d"]),
    (plus("u"), {"u": call("gt", x(shift=1), x())}, [1, 2, 3, 2], ["0 u u"]),
    (seq("a", plus("b")), {"b": call("gt", x(), x("a"))}, [1, 2, 3, 1], ["0 a b b"]),
    (seq("a", plus("b")), {"b": call("gt", x("b"), x("a"))}, [1, 2, 3, 1], ["0 a b b"]),
    (either("b", "a"), {"b": call("ne", x(), x("a"))}, [1, 2], ["0 a", "1 a"]),
    (plus("b"), {"b": call("ge", x(), x("b", "first"))}, [5, 6, 4], ["0 b b", "2 b"]),
    (plus("b"), {"b": call("is_null", x("b", "first", 1))}, [5, 6], ["0 b", "1 b"]),
    (
        plus("b"),
        {"b": call("or", call("is_null", x("b", offset=1)), call("gt", x(), x("b", offset=1)))},
        [1, 2, 2],
        ["0 b b", "2 b"],
    ),
    (
        plus("b"),
        {"b": call("le", call("sub", x(), x("", "first"), kind="float"), number(1))},
        [1, 2, 3],
        ["0 b b", "2 b"],
    ),
    (seq("a", "b"), {"b": call("eq", x(), x("a", shift=-1))}, [7, 1, 7], ["1 a b"]),
    (seq("a", "b"), {"b": call("eq", x(), x("a", shift=1))}, [1, 2], ["0 a b"]),
    (seq("a", "b", "c"), {"c": call("eq", x(), x("ab"))}, [1, 2, 2], ["0 a b c"]),
    (seq("a", "b", "c"), {"c": call("eq", x(), x("ab", "first"))}, [1, 2, 2], []),
    (seq(plus("a"), "b"), {"b": call("eq", x(), x("a", "first"))}, [1, 2, 1, 3], ["0 a a b"]),
    (seq(lazy(plus("a")), "b"), {"b": call("gt", x(), x("a"))}, [3, 2, 2, 3], ["0 a a a b"]),
    # The same place in the pattern fails after one label and succeeds after another.
    (seq(either("a", "b"), "c"), {"c": call("is_null", x("a"))}, [1, 2], ["0 b c"]),
    (seq(either("c", "b"), "c"), {"c": call("is_null", x("c", offset=1))}, [1, 2], ["0 b c"]),
    (seq(either("c", "b"), "c"), {"c": call("eq", x(), x("c", "first"))}, [1, 2], ["0 b c"]),
    # An empty iteration is the last, so b never comes after one: a a is tried before b.
    (seq(times(either(EMPTY, "a", "b"), 0, 2), "r"), {"r": AFTER_B_OR_TWO_A}, [0, 0, 0], ["0 a a r"]),
    (plus("b"), {"b": call("gt", x(), number(1))}, [2, None, NAN, 1], ["0 b", "2 b"]),
    (plus("b"), {"b": call("not", call("gt", x(), number(1)))}, [2, None, NAN, 1], ["3 b"]),
    (plus("b"), {"b": call("eq", x(), x("b", "first"))}, [NAN, NAN, None], ["0 b b"]),
    (seq("a", "b"), {"a": call("is_null", x()), "b": call("ge", x(), x(shift=-1))}, [None, 1], []),
]


@pytest.mark.parametrize(("pattern", "conditions", "values", "expected"), NAVIGATION)
def test_conditions_read_rows_relative_to_the_match_so_far(
    pattern: RowPattern,
    conditions: Mapping[str, Expression],
    values: list[float | None],
    expected: list[str],
) -> None:
    program = RowPatternProgram(pattern, tuple(conditions.items()))
    matches = find_matches(program, [{"x": value} for value in values], range(len(values)))
    assert [show_match(match) for match in matches] == expected


NESTED_STARS = seq(star(seq(star("a"), star("b"))), "c")


def make_conditions_look_back(program: RowPatternProgram) -> RowPatternProgram:
    """The same conditions, but they read the first row of the match, so that failures are not remembered."""
    first = Cell("letter", "string", Position(pick="first"))
    never = call("is_null", first)
    return replace(program, conditions=tuple((name, call("or", c, never)) for name, c in program.conditions))


def test_nested_stars_over_many_rows_end_when_failures_can_be_remembered() -> None:
    assert find_in_script(NESTED_STARS, "ab" * 1000) == []
    assert find_in_script(NESTED_STARS, "ab" * 500 + "c") == ["0 " + "a b " * 500 + "c"]


def test_search_that_cannot_remember_stops_at_its_budget() -> None:
    program = make_conditions_look_back(RowPatternProgram(NESTED_STARS, define_by_letters(NESTED_STARS)))
    with pytest.raises(PatternTooCostly, match="after 10000 steps"):
        find_matches(program, spell("a" * 40), range(40), budget=10_000)


def test_a_match_may_span_thousands_of_rows() -> None:
    assert find_in_script(seq(plus("a"), END), "a" * 5000) == ["0" + " a" * 5000]
    program = make_conditions_look_back(RowPatternProgram(plus("a"), define_by_letters(plus("a"))))
    assert len(find_matches(program, spell("a" * 5000), range(5000))[0].rows) == 5000


def can_be_empty(pattern: RowPattern) -> bool:
    return re.fullmatch(write_regex(pattern), "") is not None


def write_regex(pattern: RowPattern) -> str:
    match pattern:
        case Term(variable=variable):
            return f"[{variable}]"
        case Concatenation(items=items):
            return "".join(map(write_regex, items))
        case Alternation(options=options):
            return f"(?:{'|'.join(map(write_regex, options))})"
        case Repetition(item=item, least=least, most=most, greedy=greedy):
            bounds = f"{{{least},{'' if most is None else most}}}"
            return f"(?:{write_regex(item)}){bounds}{'' if greedy else '?'}"
    raise AssertionError(f"no regular expression for {pattern!r}")


def draw_patterns(allows_empty_iterations: bool, depth: int = 3) -> st.SearchStrategy[RowPattern]:
    terms: st.SearchStrategy[RowPattern] = st.sampled_from(["a", "b", "c", "ab"]).map(Term)
    if depth == 0:
        return terms
    parts = terms | draw_patterns(allows_empty_iterations, depth - 1)
    pairs = st.tuples(parts, parts)
    repeated = parts if allows_empty_iterations else parts.filter(lambda part: not can_be_empty(part))
    bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, None), (1, 2), (2, 2)])
    repetitions = st.builds(lambda item, b, g: Repetition(item, b[0], b[1], g), repeated, bounds, st.booleans())
    return repetitions | st.builds(Concatenation, pairs) | st.builds(Alternation, pairs)


@given(draw_patterns(allows_empty_iterations=False), st.text("abc", max_size=8))
def test_same_rows_as_a_backtracking_regular_expression(pattern: RowPattern, step_list: str) -> None:
    found = [re.compile(write_regex(pattern)).match(step_list, start) for start in range(len(step_list))]
    program = RowPatternProgram(pattern, define_by_letters(pattern), Skip("to_next"))
    matches = find_matches(program, spell(step_list), range(len(step_list)))
    assert [(m.start, m.start + len(m.rows)) for m in matches] == [m.span() for m in found if m]


@given(draw_patterns(allows_empty_iterations=True), st.text("abc", max_size=7), st.sampled_from([None, 0, 2]))
def test_remembering_failures_changes_nothing(pattern: RowPattern, step_list: str, within: int | None) -> None:
    program = RowPatternProgram(pattern, define_by_letters(pattern), Skip("to_next"), within)
    at = range(len(step_list))
    assert find_matches(program, spell(step_list), at) == find_matches(
        make_conditions_look_back(program), spell(step_list), at
    )


ANY: Strategy = "skip_till_any"
NEXT: Strategy = "skip_till_next"
STRICT: Strategy = "strict"
RISES = {"b": call("gt", x(), x("a"))}
TOPS_B = {"c": call("gt", x(), x("b"))}


def find_in_streams(
    step_list: str,
    steps: str,
    strategy: Strategy,
    conditions: Mapping[str, Expression] = {},
    values: Sequence[float | None] = (),
    within: int | None = None,
    at: Sequence[int] | None = None,
) -> list[tuple[int, ...]]:
    """Letters of the step_list name the streams; the steps are named by position: a, b, c."""
    names = "abc"[: len(steps)]
    parts = [Step(name, ord(stream), conditions.get(name)) for name, stream in zip(names, steps, strict=True)]
    rows: list[Row] = [{"x": value} for value in values or [0.0] * len(step_list)]
    program = SequenceProgram(tuple(parts), (), strategy, within)
    matches, _ = find_sequences(program, rows, at or range(len(step_list)), [ord(letter) for letter in step_list])
    return [match.rows for match in matches]


@pytest.mark.parametrize(
    ("step_list", "steps", "strategy", "expected"),
    [
        ("", "ab", ANY, []),
        ("aba", "a", ANY, [(0,), (2,)]),
        ("aba", "a", NEXT, [(0,), (2,)]),
        ("aba", "a", STRICT, [(0,), (2,)]),
        ("abab", "ab", ANY, [(0, 1), (0, 3), (2, 3)]),
        ("abab", "ab", NEXT, [(0, 1), (2, 3)]),
        ("abab", "ab", STRICT, [(0, 1), (2, 3)]),
        ("aabb", "ab", ANY, [(0, 2), (1, 2), (0, 3), (1, 3)]),
        ("aabb", "ab", NEXT, [(0, 2), (1, 2)]),
        ("aabb", "ab", STRICT, [(1, 2)]),
        ("acb", "ab", NEXT, [(0, 2)]),
        ("acb", "ab", STRICT, []),
        ("acbab", "ab", "partition_contiguity", [(3, 4)]),
        ("aaa", "aa", ANY, [(0, 1), (0, 2), (1, 2)]),
        ("aaa", "aa", NEXT, [(0, 1), (1, 2)]),
        ("aaa", "aa", STRICT, [(0, 1), (1, 2)]),
        ("abcbc", "abc", ANY, [(0, 1, 2), (0, 1, 4), (0, 3, 4)]),
        ("abcbc", "abc", NEXT, [(0, 1, 2)]),
        ("aaaa", "aaa", STRICT, [(0, 1, 2), (1, 2, 3)]),
    ],
)
def test_strategies_choose_events(
    step_list: str, steps: str, strategy: Strategy, expected: list[tuple[int, ...]]
) -> None:
    assert find_in_streams(step_list, steps, strategy) == expected


@pytest.mark.parametrize(
    ("step_list", "strategy", "conditions", "values", "expected"),
    [
        ("abb", NEXT, RISES, [5, 3, 7], [(0, 2)]),
        ("abbb", ANY, RISES, [5, 7, 3, 8], [(0, 1), (0, 3)]),
        ("abb", STRICT, RISES, [5, 3, 7], []),
        ("abb", NEXT, RISES, [5, None, 7], [(0, 2)]),
        ("abb", NEXT, RISES, [None, 6, 7], []),
        ("ab", NEXT, RISES, [5, NAN], [(0, 1)]),
        ("aab", NEXT, {"a": call("gt", x(), number(1))}, [1, 2, 0], [(1, 2)]),
        ("abbc", ANY, TOPS_B, [0, 9, 1, 5], [(0, 2, 3)]),
        # The earliest b is taken and never given back, although only the second leads to a c.
        ("abbc", NEXT, TOPS_B, [0, 9, 1, 5], []),
        ("abcc", NEXT, TOPS_B, [0, 9, 1, 10], [(0, 1, 3)]),
    ],
)
def test_steps_are_held_against_earlier_ones(
    step_list: str,
    strategy: Strategy,
    conditions: Mapping[str, Expression],
    values: list[float | None],
    expected: list[tuple[int, ...]],
) -> None:
    assert find_in_streams(step_list, "".join(sorted(set(step_list))), strategy, conditions, values) == expected


@pytest.mark.parametrize(
    ("step_list", "at", "within", "expected"),
    [
        ("ab", (0, 10), 10, [(0, 1)]),
        ("ab", (0, 10), 9, []),
        ("abc", (0, 6, 12), 12, [(0, 1, 2)]),
        ("abc", (0, 6, 12), 10, []),
        ("aab", (0, 5, 10), 5, [(1, 2)]),
        ("ab", (5, 5), 0, [(0, 1)]),
        ("ba", (5, 5), 0, []),
    ],
)
@pytest.mark.parametrize("strategy", [ANY, NEXT, STRICT])
def test_sequence_within_includes_its_bound_and_ties_keep_their_order(
    step_list: str, at: tuple[int, ...], within: int, expected: list[tuple[int, ...]], strategy: Strategy
) -> None:
    assert find_in_streams(step_list, "".join(sorted(set(step_list))), strategy, within=within, at=at) == expected


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=8), st.integers(0, 8))
def test_every_combination_that_fits_is_found(events: list[tuple[str, int]], within: int) -> None:
    step_list = "".join(stream for stream, _ in events)
    values = [float(value) for _, value in events]
    expected = [
        (i, j, k)
        for i, j, k in combinations(range(len(events)), 3)
        if step_list[i] + step_list[j] + step_list[k] == "aba" and values[j] > values[i] and k - i <= within
    ]
    found = find_in_streams(step_list, "aba", ANY, RISES, values, within)
    assert found == sorted(found, key=lambda match: (match[-1], match))
    assert sorted(found) == expected


def compute(function: str, *values: Value | None, kind: Kind = "int") -> Value | None:
    cells = tuple(Cell(str(index), "int") for index in range(len(values)))
    return evaluate(Call(function, cells, kind), lambda cell: values[int(cell.column)])


EVALUATION: list[tuple[str, tuple[Value | None, ...], Value | None]] = [
    ("and", (True, True), True), ("and", (True, None), None), ("and", (None, None), None),
    ("and", (None, False), False), ("and", (True, None, False), False),
    ("or", (False, False), False), ("or", (False, None), None), ("or", (None, None), None),
    ("or", (None, True), True), ("or", (False, None, True), True),
    ("not", (True,), False), ("not", (False,), True), ("not", (None,), None),
    ("is_null", (None,), True), ("is_null", (0,), False), ("is_null", (NAN,), False),
    ("eq", (1, 1.0), True), ("eq", (NAN, NAN), True), ("eq", (None, None), None), ("eq", (0.0, -0.0), True),
    ("eq", (2**53 + 1, float(2**53)), True), ("eq", (2**53 + 1, 2**53), False),
    ("ne", (NAN, NAN), False), ("ne", (NAN, 1), True), ("ne", (1, None), None),
    ("lt", (math.inf, NAN), True), ("lt", (NAN, NAN), False), ("lt", (NAN, 1.0), False),
    ("le", (NAN, NAN), True), ("gt", (NAN, math.inf), True), ("gt", (3, NAN), False), ("ge", (2, 2), True),
    ("lt", ("Z", "a"), True), ("lt", ("a", "ab"), True), ("lt", ("\uffff", "\U0001f600"), True),
    ("lt", (False, True), True), ("gt", (None, 1), None),
    ("add", (2, 3), 5), ("add", (2, None), None), ("sub", (2, 5), -3), ("mul", (2, 1.5), 3.0),
    ("div", (7, 2), 3.5), ("div", (6, 2), 3.0), ("div", (1, 0), None), ("div", (1.0, -0.0), None),
    ("div", (NAN, 0), None), ("div", (None, 0), None),
    ("mod", (7, 3), 1), ("mod", (-7, 3), -1), ("mod", (7, -3), 1), ("mod", (-7, -3), -1),
    ("mod", (-7.5, 2), -1.5), ("mod", (7.5, -2), 1.5), ("mod", (1, 0), None), ("mod", (1.0, 0.0), None),
    ("mod", (math.inf, 2.0), NAN), ("mod", (2.0, math.inf), 2.0), ("mod", (-(2**62) - 1, 2**61), -1),
    ("neg", (3,), -3), ("neg", (None,), None), ("abs", (-3,), 3), ("abs", (-2.5,), 2.5),
    ("coalesce", (None, 2, 3), 2), ("coalesce", (None, None), None), ("coalesce", (NAN, 1.0), NAN),
    ("if", (True, 1, 2), 1), ("if", (False, 1, 2), 2), ("if", (None, 1, 2), 2), ("if", (True, None, 2), None),
    ("least", (3, None, 1), 1), ("least", (NAN, 1.0), 1.0), ("least", (None, None), None),
    ("greatest", (3, None, 1), 3), ("greatest", (NAN, 1.0), NAN), ("greatest", ("b", "a"), "b"),
    ("to_float", (3,), 3.0), ("to_float", (None,), None),
]  # fmt: skip


@pytest.mark.parametrize(("function", "values", "expected"), EVALUATION)
def test_functions_mean_what_the_contract_says(
    function: str, values: tuple[Value | None, ...], expected: Value | None
) -> None:
    result = compute(function, *values)
    assert type(result) is type(expected)
    assert result == expected or (result != result and expected != expected)


def test_each_function_is_defined_once() -> None:
    assert sorted([*OF_NULLS_TOO, *OF_VALUES]) == sorted(FUNCTIONS)


@pytest.mark.parametrize(("function", "values"), [("coalesce", (1, 0.5)), ("least", (1, 2.5)), ("if", (True, 1, 0.5))])
def test_result_declared_float_is_float(function: str, values: tuple[Value, ...]) -> None:
    assert isinstance(compute(function, *values, kind="float"), float)
    assert isinstance(compute("coalesce", None, *values[-1:], kind="float"), float)


def test_expressions_nest() -> None:
    speed = call("div", call("sub", x(), x("a"), kind="float"), number(2), kind="float")
    cells: dict[Cell, Value | None] = {x(): 9.0, x("a"): 4.0}
    assert evaluate(call("and", call("gt", speed, number(2)), call("is_null", number(None))), cells.get) is True
