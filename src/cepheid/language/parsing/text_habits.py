"""Texts as each dialect reads them; built when they are read, for a host that has DuckDB's.

                              default, duckdb   trino    flink    spark    risingwave
'a_b' LIKE 'a\\_b'             false             false    false    true     true
substring('abc', 0, 2)        a                 (empty)  ab       ab       a
substring('abc', -1, 3)       c                 c        c        c        a
CAST('abc' AS VARCHAR(2))     abc               ab       ab       abc      ab
CAST('a' AS CHAR(2))          a                 a_       a_       a        a_
'abc' SIMILAR TO 'a%'         false             -        true     -        true
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.places import span_of

Position = Literal["counted", "empty", "first", "outside"]


@dataclass(frozen=True, slots=True)
class TextHabits:
    """escapes: is a backslash in LIKE an escape, where none is named?  position: what substring takes for the place 0:
    counted as DuckDB counts it; nothing; the first one; or, with those below zero, in front of the text.  cuts: does
    CAST to VARCHAR(n) cut the text?  similar: is SIMILAR TO the standard's?"""

    escapes: bool = False
    position: Position = "counted"
    cuts: bool = False
    similar: bool = False


def escape_pattern(like: exp.Expr) -> exp.Expr:
    """LIKE in which a backslash takes the next character as it is."""
    pattern = like.args.get("expression")
    is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if not isinstance(like, exp.Like | exp.ILike) or is_plain:
        return like
    if isinstance(pattern, exp.Literal) and (len(pattern.name) - len(pattern.name.rstrip("\\"))) % 2:
        raise NotSupportedYet("a pattern that ends in an escape", span=span_of(pattern), hint="write two backslashes")
    return exp.Escape(this=like, expression=exp.Literal.string("\\"))


def take_backslashes(like: exp.Expr) -> exp.Expr:
    """LIKE in which a backslash is a character like any other, on hosts where it is an escape as well."""
    pattern = like.args.get("expression")
    if not isinstance(like, exp.Like | exp.ILike) or not isinstance(pattern, exp.Literal) or "\\" not in pattern.name:
        return like
    free = next((mark for mark in "!~^|#@$&" if mark not in pattern.name), None)
    if free is None:
        raise NotSupportedYet("a pattern of so many marks", span=span_of(pattern), hint="name one with ESCAPE")
    return exp.Escape(this=like, expression=exp.Literal.string(free))


def place_substring(node: exp.Substring, position: Position) -> exp.Expr:
    """The part of a text, from where the dialect begins to count."""
    start = node.args.get("start")
    if position == "counted" or start is None or _is_positive(start):
        return node
    written = _read_whole(start)
    zero = exp.Literal.number(0)
    if position == "first":
        if written is not None:
            node.set("start", exp.Literal.number(1) if written == 0 else start)
            return node
        at_zero = exp.EQ(this=exp.Paren(this=start.copy()), expression=zero)
        node.set("start", exp.Case(ifs=[exp.If(this=at_zero, true=exp.Literal.number(1))], default=start))
        return node
    if position == "empty":
        return _nothing_at_zero(node, start, written)
    return _from_outside(node, start, written)


def _nothing_at_zero(node: exp.Substring, start: exp.Expr, written: int | None) -> exp.Expr:
    """At 0, and further in front of the end than the text is long: nothing."""
    none = exp.Literal.string("")
    length = exp.Length(this=node.this.copy())
    in_front = exp.Or(
        this=exp.EQ(this=exp.Paren(this=start.copy()), expression=exp.Literal.number(0)),
        expression=exp.LT(this=exp.Paren(this=start.copy()), expression=exp.Neg(this=length)),
    )
    if written == 0:
        return exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Is(this=node.this, expression=exp.null())), true=none)])
    is_there = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.null()))
    outside = exp.And(this=is_there, expression=exp.Paren(this=in_front))
    return exp.Case(ifs=[exp.If(this=outside, true=none)], default=node)


def _from_outside(node: exp.Substring, start: exp.Expr, written: int | None) -> exp.Expr:
    """Places before the first count as part of the length."""
    length = node.args.get("length")
    count = _read_whole(length) if length is not None else None
    if written is not None and (length is None or count is not None):
        node.set("start", exp.Literal.number(1))
        if count is not None:
            node.set("length", exp.Literal.number(max(0, written + count - 1)))
        return node
    hint = "write a place from 1 on, or CASE WHEN n < 1 THEN ... END"
    if length is not None:
        raise NotSupportedYet("substring from a place that is no number", span=span_of(start), hint=hint)
    node.set("start", exp.Case(ifs=[exp.If(this=exp.LT(this=exp.Paren(this=start.copy()),
             expression=exp.Literal.number(1)), true=exp.Literal.number(1))], default=start))  # fmt: skip
    return node


def cut_text(cast: exp.Expr) -> exp.Expr:
    """CAST to VARCHAR(n) or CHAR(n), of which n characters stay; the latter is filled with spaces."""
    kind = cast.args.get("to")
    sizes = kind.expressions if isinstance(kind, exp.DataType) else []
    if not isinstance(kind, exp.DataType) or kind.this not in exp.DataType.TEXT_TYPES or len(sizes) != 1:
        return cast
    size = sizes[0].this.copy()
    is_fixed = kind.this in (exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR)
    cast.set("to", exp.DataType.build("varchar"))
    if is_fixed:
        return exp.Pad(this=cast, expression=size, fill_pattern=exp.Literal.string(" "), is_left=False)
    return exp.Substring(this=cast, start=exp.Literal.number(1), length=size)


_REPLACEMENT = re.compile(r"\\(?P<plain>.)|\$(?P<group>\d)|(?P<bad>\$|\\)|(?P<other>[^$\\]+)", re.DOTALL)
_MARKS = {"%": ".*", "_": "."}


def match_similar(node: exp.SimilarTo) -> exp.Expr:
    """SIMILAR TO of the standard: % and _ as in LIKE, beside | * + ? { } ( ) [ ] of regular expressions."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or "\\" in pattern.name or re.search(r"\[[^\]]*[%_:]", pattern.name):
        hint = "write LIKE, or a regular expression"
        raise NotSupportedYet("SIMILAR TO with this pattern", span=span_of(pattern) or span_of(node), hint=hint)
    written = "".join(_MARKS.get(mark) or (f"\\{mark}" if mark in ".^$" else mark) for mark in pattern.name)
    return exp.RegexpLike(this=node.this, expression=exp.Literal.string(f"^(?s:{written})$"))


def replace_by_groups(given: list[exp.Expr], dialect: str) -> exp.Expr:
    """regexp_replace(s, pattern, 'by $1') as Java writes it: groups are \\1 here, and a backslash is two."""
    text, pattern, *rest = given
    if not rest:
        return exp.RegexpReplace(this=text, expression=pattern, replacement=exp.Literal.string(""))
    (written,) = rest[:1]
    if not isinstance(written, exp.Literal) or len(rest) > 1:
        hint = "write regexp_replace(s, 'a(b)', '$1')"
        raise NotSupportedYet(f"this regexp_replace of {dialect}", span=span_of(written) or span_of(text), hint=hint)
    pieces: list[str] = []
    for found in _REPLACEMENT.finditer(written.name):
        if found["bad"] is not None:
            hint = "groups are $1 to $9"
            raise NotSupportedYet(f'"{written.name}" in regexp_replace', span=span_of(written), hint=hint)
        plain = found["plain"] if found["plain"] is not None else found["other"]
        pieces.append(f"\\{found['group']}" if found["group"] else (plain or "").replace("\\", "\\\\"))
    return exp.RegexpReplace(this=text, expression=pattern, replacement=exp.Literal.string("".join(pieces)))


def _is_positive(tree: exp.Expr) -> bool:
    written = _read_whole(tree)
    return written is not None and written > 0


def _read_whole(tree: exp.Expr | None) -> int | None:
    sign = -1 if isinstance(tree, exp.Neg) else 1
    inner = tree.this if isinstance(tree, exp.Neg) else tree
    is_whole = isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdigit()
    return sign * int(inner.name) if is_whole and inner is not None else None
