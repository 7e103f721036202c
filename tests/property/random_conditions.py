"""Random conditions as SQL text, over cells that the caller knows how to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
NUMBER_COLUMNS = ("i", "f", "k")
TEXT_COLUMNS = ("s", "w")
TIME_COLUMNS = ("ts", "at")


@dataclass(frozen=True)
class ConditionWriter:
    """`cell` writes a column at some event of the match: `i`, `a.i`, `PREV(LAST(a.i, 1))`; `fact` writes a number or
    a text that the match as a whole gives: `count(*)`, `CLASSIFIER()`."""

    random: Random
    cell: Callable[[str], str]
    fact: Callable[[Literal["number", "text"]], str] | None = None

    def condition(self, depth: int) -> str:
        if depth == 0:
            return self._comparison(0)
        write = self.random.choice(
            (self._comparison, self._comparison, self._logic, self._logic, self._membership, self._choice, self._flag)
        )
        return write(depth - 1)

    def _comparison(self, depth: int) -> str:
        write = self.random.choice((self.number, self.number, self.text, self.moment, self.duration))
        return f"({write(depth)} {self.random.choice(COMPARISONS)} {write(depth)})"

    def _flag(self, depth: int) -> str:
        cell = self.cell("flag")
        return self.random.choice((cell, f"({cell} = {self.condition(depth)})", f"({cell} IS NULL)"))

    def _logic(self, depth: int) -> str:
        left, right = self.condition(depth), self.condition(depth)
        shape = self.random.choice(("({0} AND {1})", "({0} OR {1})", "(NOT {0})", "({0} IS NULL)"))
        return shape.format(left, right)

    def _membership(self, depth: int) -> str:
        write, constant = self.random.choice(
            (
                (self.number, self._number_constant),
                (self.text, self._text_constant),
                (self.moment, self._moment_constant),
            )
        )
        value = write(depth)
        if self.random.random() < 0.5:
            return f"({value} {self.random.choice(('', 'NOT '))}BETWEEN {constant()} AND {write(depth)})"
        options = [constant() for _ in range(self.random.randint(1, 3))] + self.random.choice(([], ["NULL"]))
        return f"({value} {self.random.choice(('', 'NOT '))}IN ({', '.join(options)}))"

    def _choice(self, depth: int) -> str:
        first, second, third = (self.condition(depth) for _ in range(3))
        shape = self.random.choice(
            ("(CASE WHEN {0} THEN {1} ELSE {2} END)", "(CASE WHEN {0} THEN {1} END)", "COALESCE({0}, {1})")
        )
        return shape.format(first, second, third)

    def number(self, depth: int) -> str:
        if self.fact is not None and self.random.random() < 0.25:
            return self.fact("number")
        if depth == 0 or self.random.random() < 0.4:
            return self._number_cell() if self.random.random() < 0.7 else self._number_constant()
        left, right = self.number(depth - 1), self.number(depth - 1)
        shape = self.random.choice(
            (
                "({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} % {1})", "ABS({0})", "(- {0})",
                "COALESCE({0}, {1})", "COALESCE({0}, {1}, {2})", "(CASE WHEN {3} THEN {0} ELSE {1} END)",
                "CAST({0} AS DOUBLE)", "NULLIF({2}, 1)", "LEAST({0}, {1})", "GREATEST({0}, {1}, {2})", "MOD({0}, {1})",
                "SQRT(ABS({0}))", "CBRT({0})", "POWER({0}, 2)", "FLOOR({0})", "CEIL({0})", "ROUND({0})",
                "ROUND({0}, 1)", "TRUNCATE({0})", "SIGN({0})", "ROUND(LN({0}), 6)", "ROUND(EXP({0} / 8), 6)",
                "ROUND(SIN({0}), 6)", "ROUND(ATAN2({0}, {1}), 6)", "ROUND(LOG2({0}), 6)", "DEGREES({0})",
                "DATE_DIFF('second', {4}, {5})", "TO_UNIXTIME({4})", "({0} + PI())",
            )
        )  # fmt: skip
        moments = (self.moment(0), self.moment(0))
        return shape.format(left, right, self._number_cell(), self.condition(0), *moments)

    def text(self, depth: int) -> str:
        if self.fact is not None and self.random.random() < 0.25:
            return self.fact("text")
        if depth == 0 or self.random.random() < 0.6:
            cell = self.cell(self.random.choice(TEXT_COLUMNS))
            return cell if self.random.random() < 0.7 else self._text_constant()
        left, right = self.text(depth - 1), self.text(depth - 1)
        shape = self.random.choice(
            ("COALESCE({0}, {1})", "(CASE WHEN {2} THEN {0} ELSE {1} END)", "UPPER({3})", "LEAST({0}, {1})",
             "GREATEST({0}, {1})")
        )  # fmt: skip
        return shape.format(left, right, self.condition(0), self.cell("w"))

    def moment(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.6:
            cell = self.cell(self.random.choice(TIME_COLUMNS))
            return cell if self.random.random() < 0.8 else self._moment_constant()
        shape = self.random.choice(("({0} + {1})", "({0} - {1})", "COALESCE({0}, {2})"))
        return shape.format(self.moment(depth - 1), self.duration(0), self.moment(0))

    def duration(self, depth: int) -> str:
        if depth == 0:
            return f"INTERVAL '{self.random.randint(0, 9)}' SECOND"
        return f"({self.moment(depth - 1)} - {self.moment(depth - 1)})"

    def _number_cell(self) -> str:
        return self.cell(self.random.choice(NUMBER_COLUMNS))

    def _number_constant(self) -> str:
        return self.random.choice(("-1", "0", "1", "2", "3", "0.0", "0.5", "2.5", "-1.5"))

    def _text_constant(self) -> str:
        return self.random.choice(("''", "'a'", "'A'", "'B'", "'b'", "'Z'", "'\uffee'"))

    def _moment_constant(self) -> str:
        return f"TIMESTAMP '2026-01-01 00:00:{self.random.randint(0, 20):02}'"
