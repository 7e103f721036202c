"""Row patterns: what binds tighter than what, where each part stands, and how mistakes are told."""

from __future__ import annotations

from typing import Any

import pytest

from cepheid.errors import SyntaxProblem
from cepheid.kernel.pattern import (
    Absence,
    Alternation,
    Anchor,
    Concatenation,
    EmptyPattern,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    Term,
)
from cepheid.language.parsing.row_pattern_parser import parse_row_pattern

A, B, C = Term("A"), Term("B"), Term("C")


def read_problem(text: str) -> tuple[SyntaxProblem, str]:
    """The problem in the text, and the part of the text that its span covers."""
    with pytest.raises(SyntaxProblem) as caught:
        parse_row_pattern(text, 0)
    span = caught.value.span
    assert span is not None
    return caught.value, text[span.start : span.end]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ("((a))", A),
        ("a b | c", Alternation((Concatenation((A, B)), C))),
        ("a (b | c)", Concatenation((A, Alternation((B, C))))),
        ("a b*", Concatenation((A, Repetition(B, 0, None)))),
        ("(a b)*", Repetition(Concatenation((A, B)), 0, None)),
        ("a|b+", Alternation((A, Repetition(B, 1, None)))),
        ("a?b", Concatenation((Repetition(A, 0, 1), B))),
        ("a{2}", Repetition(A, 2, 2)),
        ("a{2,}", Repetition(A, 2, None)),
        ("a{,3}", Repetition(A, 0, 3)),
        ("a{ 2 , 3 }", Repetition(A, 2, 3)),
        ("a{,}", Repetition(A, 0, None)),
        ("a*?", Repetition(A, 0, None, greedy=False)),
        ("a+?", Repetition(A, 1, None, greedy=False)),
        ("a??", Repetition(A, 0, 1, greedy=False)),
        ("a{2,3}?", Repetition(A, 2, 3, greedy=False)),
        ("(a*)*", Repetition(Repetition(A, 0, None), 0, None)),
        ("^a$", Concatenation((Anchor("start"), A, Anchor("end")))),
        ("", EmptyPattern()),
        ("a ()", Concatenation((A, EmptyPattern()))),
        ("() | a", Alternation((EmptyPattern(), A))),
        ("{-a-}", Exclusion(A)),
        ("{- a | b -}+", Repetition(Exclusion(Alternation((A, B))), 1, None)),
        ("permute(a, b c)", Permutation((A, Concatenation((B, C))))),
        ("PERMUTE(a|b)", Permutation((Alternation((A, B)),))),
        ("permute a", Concatenation((Term("PERMUTE"), A))),
        ('"a b" `c``d`', Concatenation((Term("a b"), Term("c`d")))),
        ("select from1 é_1", Concatenation((Term("SELECT"), Term("FROM1"), Term("É_1")))),
        ("a -- b )\n/* ) */ c", Concatenation((A, C))),
        ("a NOT b c", Concatenation((A, Absence("B"), C))),
        ("a not b", Concatenation((A, Absence("B")))),
        ("a~b c", Concatenation((A, Absence("B"), C))),
        ('a ~ "B x"', Concatenation((A, Absence("B x")))),
        ('a "NOT" b', Concatenation((A, Term("NOT"), B))),
        ("a (NOT b | c)", Concatenation((A, Alternation((Absence("B"), C))))),
        ("a NOT b+ c", Concatenation((A, Repetition(Absence("B"), 1, None), C))),
        ("a NOT b FOR INTERVAL '2' SECOND c", Concatenation((A, Absence("B", 2_000_000), C))),
        ("a ~b for interval '1.5' minute", Concatenation((A, Absence("B", 90_000_000)))),
        ("a NOT b FOR INTERVAL 3 HOURS c", Concatenation((A, Absence("B", 3 * 3_600_000_000), C))),
        ("a NOT b FOR INTERVAL '2 s'? c", Concatenation((A, Repetition(Absence("B", 2_000_000), 0, 1), C))),
        ("a NOT b FOR 100 ms c", Concatenation((A, Absence("B", 100_000), C))),
        ("a NOT b FOR 5s", Concatenation((A, Absence("B", 5_000_000)))),
        ("a NOT b FOR 10 c", Concatenation((A, Absence("B", 10, counted=True), C))),
        ("a NOT b FOR -1 s", Concatenation((A, Absence("B", -1_000_000)))),
        ('a NOT b "FOR"', Concatenation((A, Absence("B"), Term("FOR")))),
        ("a FOR NOT b", Concatenation((A, Term("FOR"), Absence("B")))),
    ],
)
def test_row_pattern(text: str, expected: RowPattern) -> None:
    written = f"PATTERN ({text}) DEFINE"
    assert parse_row_pattern(written, 8) == (expected, written.index(" DEFINE"))


def test_spans_of_row_patterns() -> None:
    text = "PATTERN (^ {- a -} PERMUTE(b, c) () NOT  d ~e NOT f FOR  5 s)"
    pattern: Any = parse_row_pattern(text, 8)[0]
    spans = [part.span for part in pattern.items]
    written = [text[span.start : span.end] for span in spans]
    assert written == ["^", "{- a -}", "PERMUTE(b, c)", "()", "NOT  d", "~e", "NOT f FOR  5 s"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a{3,2}", "{3,2}", 'quantifier "{3,2}" ends below its start'),
        ("a{0}", "{0}", 'quantifier "{0}" allows no event'),
        ("a{0,0}", "{0,0}", 'quantifier "{0,0}" allows no event'),
        ("a{,0}", "{,0}", 'quantifier "{,0}" allows no event'),
        ("a{1234567890}", "{1234567890}", 'quantifier "{1234567890}" is too large'),
        ("a{}", "{", 'unexpected "{" in the row pattern: expected a pattern variable'),
        ("a{2 3}", "{", 'unexpected "{" in the row pattern: expected a pattern variable'),
        ("a**", "*", 'unexpected "*" in the row pattern: expected a pattern variable'),
        ("* a", "*", 'unexpected "*" in the row pattern: expected a pattern variable'),
        ("a || b", "|", 'unexpected "|" in the row pattern: expected a pattern variable'),
        ("a |", ")", 'unexpected ")" in the row pattern: expected a pattern variable'),
        ("a, b", ",", 'unexpected "," in the row pattern: expected ")"'),
        ("a -}", "-}", 'unexpected "-}" in the row pattern: expected ")"'),
        ("{--} a", "-}", 'unexpected "-}" in the row pattern: expected a pattern variable'),
        ("{- a", ")", 'unexpected ")" in the row pattern: expected "-}"'),
        ("PERMUTE()", ")", 'unexpected ")" in the row pattern: expected a pattern variable'),
        ("a 'b'", "'b'", "unexpected \"'b'\" in the row pattern: expected a pattern variable"),
        ("a 12 b", "12", 'unexpected "12" in the row pattern: expected a pattern variable'),
        ("a NOT b FOR c", "c", 'expected a duration behind FOR, not "c"'),
        ("a NOT b FOR", ")", 'expected a duration behind FOR, not ")"'),
        ("a NOT b FOR INTERVAL SECOND", "SECOND", 'expected a duration behind FOR, not "SECOND"'),
        ("a NOT b FOR INTERVAL '2' SECNOD", "'2' SECNOD", '"SECNOD" is not a unit of time'),
        ("a NOT b FOR INTERVAL '2' MONTH", "'2' MONTH", '"MONTH" has no fixed length'),
        ("a NOT b FOR INTERVAL '2'", "'2'", "\"'2'\" has no unit of time"),
        ("a NOT b FOR 1.5 c", "1.5", '"1.5" has no unit of time'),
        ("a NOT b FOR '' c", "''", '"" is not an interval'),
        ("a NOT (b)", "(", 'expected a pattern variable behind NOT, not "("'),
        ("a NOT", ")", 'expected a pattern variable behind NOT, not ")"'),
        ("a ~~b", "~", 'expected a pattern variable behind ~, not "~"'),
        ("(" * 101 + "a" + ")" * 101, "(", "the row pattern is nested too deeply"),
    ],
)
def test_mistakes_in_row_patterns(text: str, place: str, message: str) -> None:
    problem, found = read_problem(f"({text})")
    assert (problem.message, found) == (message, place)
    assert problem.hint


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("(a {- b", "{-", '"{-" of the row pattern is never closed'),
        ("(a", "(", '"(" of the row pattern is never closed'),
        ("(a |", "", "the row pattern ends too early: expected a pattern variable"),
    ],
)
def test_patterns_without_end(text: str, place: str, message: str) -> None:
    problem, found = read_problem(text)
    assert (problem.message, found) == (message, place)
