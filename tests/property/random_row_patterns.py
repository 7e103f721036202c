"""Random MATCH_RECOGNIZE queries and row patterns in WINDOW, and the events to run them on.

What would take the reference twin for ever is left out: conditions that look back into the match come with few
events and without loops inside loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Literal

import pyarrow as pa
from random_conditions import ConditionWriter
from random_events import SCHEMA, make_events

VARIABLES = ("a", "b", "c", "d", "e")
ABSENT = ("no", "none")
MOST_TERMS = 6
ROWS, FEW, SOME, MANY = 8, 24, 60, 2000


@dataclass(frozen=True)
class RowPatternCase:
    text: str
    events: pa.Table
    tie_breaker: bool

    def __repr__(self) -> str:
        return f"{self.text}\n{self.events.slice(0, 60).to_pylist()}\n"


@dataclass
class PatternWriter:
    """A row pattern; remembers its variables in the order of appearance, and what else it holds.

    `marks`: whether exclusions and anchors may stand in it (not in WINDOW).
    """

    random: Random
    nests_loops: bool
    marks: bool = True
    terms: int = 0
    loops: int = 0
    permutes: bool = False
    excludes: bool = False
    variables: dict[str, None] = field(default_factory=dict)
    absent: dict[str, None] = field(default_factory=dict)

    def write(self, depth: int, in_loop: bool, once: bool = True, permuted: bool = False) -> str:
        """`once`: no quantifier and no PERMUTE is around, so that NOT may stand here (NOT ... FOR: no PERMUTE)."""
        kind = self._choose_kind(once, permuted) if depth else "term"
        if kind == "term" or self.terms >= MOST_TERMS:
            return self._term() + self._quantifier(in_loop)[0]
        match kind:
            case "group":
                quantifier, loops = self._quantifier(in_loop)
                inner = self.write(depth - 1, in_loop or loops, once and not quantifier, permuted)
                return f"({inner}){quantifier}"
            case "absence":
                return f"{self._term()} {self.random.choice(('NOT ', '~'))}{self._absent()} {self._term()}"
            case "timed":
                return f"{self._term()} {self.timed_absence()}"
            case "exclusion":
                self.excludes = True
                return f"{{- {self.write(depth - 1, in_loop, once, permuted)} -}}"
            case "permute":
                self.permutes = True
                parts = [self.write(self.random.choice((0, 0, 1)), in_loop, False, True) for _ in range(self._count())]
                return f"PERMUTE({', '.join(parts)})"
        parts = [self.write(depth - 1, in_loop, once, permuted) for _ in range(self._count())]
        if kind == "options" and self.random.random() < 0.1:
            parts.append("()")
        if kind == "sequence" and self.marks and self.random.random() < 0.05:
            parts = ["^", *parts] if self.random.random() < 0.5 else [*parts, "$"]
        return f"({' | '.join(parts)})" if kind == "options" else " ".join(parts)

    def timed_absence(self) -> str:
        """Behind a term, or before one at the start of the pattern."""
        seconds = self.random.randint(1, 4)
        duration = self.random.choice(
            (f"INTERVAL '{seconds}' SECOND", f"{seconds * 1000} ms", f"INTERVAL '{seconds} s'")
        )
        return f"NOT {self._absent()} FOR {duration}"

    def _choose_kind(self, once: bool, permuted: bool) -> str:
        kinds = ["term", "term", "sequence", "sequence", "sequence", "sequence", "options", "options", "group", "group"]
        kinds += ["absence"] if once else []
        kinds += [] if permuted else ["timed"]
        kinds += ["exclusion"] if self.marks and self.random.random() < 0.5 else []
        kinds += [] if self.permutes else ["permute"]
        return self.random.choice(kinds)

    def _count(self) -> int:
        return self.random.randint(2, 3)

    def _absent(self) -> str:
        variable = self.random.choice(ABSENT)
        self.absent[variable] = None
        return variable

    def _term(self) -> str:
        self.terms += 1
        variable = self.random.choice(VARIABLES)
        self.variables[variable] = None
        return variable

    def _quantifier(self, in_loop: bool) -> tuple[str, bool]:
        """The quantifier, and whether it is a loop."""
        least = self.random.randint(0, 2)
        bounded = ["?", f"{{{least + 1}}}", f"{{{least},{least + self.random.randint(1, 2)}}}"]
        unbounded = ["*", "+", f"{{{least},}}"]
        may_loop = self.nests_loops or (not in_loop and self.loops < 3)
        chosen = self.random.choice(["", "", "", *bounded, *(unbounded * 2 if may_loop else ())])
        self.loops += chosen in unbounded
        reluctant = chosen != "" and self.random.random() < 0.3
        return chosen + ("?" if reluctant else ""), chosen in unbounded


@dataclass
class QueryWriter:
    random: Random
    looks_back: bool
    most_events: int
    in_window: bool = False
    of_rows: bool = False

    def write(self) -> tuple[str, bool]:
        """The query, and whether a second column decides ties."""
        random = self.random
        self.within = f"WITHIN INTERVAL '{random.randint(1, 12)}' SECOND" if random.random() < 0.5 else ""
        written = self._write_pattern()
        self.unions = {"u": random.choices(self.variables, k=2)} if random.random() < 0.3 else {}
        self.all_rows = random.random() < 0.5 and not self.in_window
        self.unmatched = self.all_rows and not self.excludes and random.random() < 0.3
        self.timeouts = bool(self.within) and not (self.unmatched or self.in_window) and random.random() < 0.3
        self.skips_little = self.most_events <= SOME and random.random() < 0.4
        tie_breaker = random.random() < 0.2
        keys = random.choice(([], ["k"], ["k"], ["s"], ["k", "s"], ["f"]))
        measures = [f"{self._measure()} AS m{number}" for number in range(random.randint(1, 4))]
        measures += ["TIMED_OUT() AS late"] if self.timeouts else []
        lines = [
            f"PARTITION BY {', '.join(keys)}" if keys else "",
            "ORDER BY ts, n" if tie_breaker else "ORDER BY ts",
            f"MEASURES {', '.join(measures)}",
            self._frame() if self.in_window else self._rows_per_match(),
            self._after_match(),
            random.choice(("", "INITIAL", "SEEK")) if self.in_window else "",
            f"PATTERN ({written})",
            f"{self.within} TIMEOUT ROWS" if self.timeouts else self.within,
            "".join(f"SUBSET {name} = ({', '.join(dict.fromkeys(members))})" for name, members in self.unions.items()),
            self._definitions(),
        ]
        clause = "\n  ".join(line for line in lines if line)
        if self.in_window:
            return self._select_over(len(measures), clause), tie_breaker
        # A filter may take away the very partition that breaks the rule of a skip clause.
        where = "" if "SKIP TO" in clause else self._filter(keys)
        return f"SELECT {self._selected()} FROM t MATCH_RECOGNIZE (\n  {clause}\n){where}", tie_breaker

    def _write_pattern(self) -> str:
        pattern = PatternWriter(self.random, nests_loops=not self.looks_back, marks=not self.in_window)
        written = pattern.write(3, in_loop=False)
        if self.within and not self.in_window and "$" not in written and self.random.random() < 0.15:
            variable = self.random.choice(VARIABLES)
            pattern.variables[variable] = pattern.absent["gone"] = None
            written = f"({written}) {variable} NOT gone"
        if not self.in_window and not written.startswith("^") and self.random.random() < 0.1:
            variable = self.random.choice(VARIABLES)
            pattern.variables[variable] = None
            written = f"{pattern.timed_absence()} {variable} ({written})"
        self.variables, self.absent, self.excludes = list(pattern.variables), list(pattern.absent), pattern.excludes
        return written

    def _select_over(self, measures: int, clause: str) -> str:
        functions = (
            "count(*)", "sum(i)", "avg(f)", "min(w)", "max(at)", "first_value(i)", "last_value(w)", "nth_value(i, 2)",
            "count(DISTINCT s)", "max_by(i, ts)", "sum(i) FILTER (WHERE flag)",
        )  # fmt: skip
        chosen = [f"m{self.random.randrange(measures)} OVER w AS x", f"{self.random.choice(functions)} OVER w AS y"]
        where = self.random.choice(("", "", " WHERE i > 0"))
        return f"SELECT *, {', '.join(chosen)} FROM t{where} WINDOW w AS (\n  {clause}\n)"

    def _frame(self) -> str:
        end = self.random.choice(("UNBOUNDED", "UNBOUNDED", str(self.random.randint(0, 8))))
        return f"ROWS BETWEEN CURRENT ROW AND {end} FOLLOWING"

    def _selected(self) -> str:
        return self.random.choice(("*", "*", "*", "m0", "m0 AS x, m0 AS y"))

    def _filter(self, keys: list[str]) -> str:
        tests = {"k": "k = 1", "s": "s <> 'a'", "f": "f > 0"}
        chosen = [tests[key] for key in keys if self.random.random() < 0.2]
        return f" WHERE {' AND '.join(chosen)}" if chosen else ""

    def _rows_per_match(self) -> str:
        if not self.all_rows:
            return self.random.choice(("ONE ROW PER MATCH", ""))
        if self.unmatched:
            return "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        empty = self.random.choice(("", " SHOW EMPTY MATCHES", " OMIT EMPTY MATCHES"))
        return f"ALL ROWS PER MATCH{empty}"

    def _after_match(self) -> str:
        if not self.skips_little:
            return self.random.choice(("", "AFTER MATCH SKIP PAST LAST ROW"))
        if self.random.random() < 0.5:
            return "AFTER MATCH SKIP TO NEXT ROW"
        target = self.random.choice([*self.variables, *self.unions])
        return f"AFTER MATCH SKIP TO {self.random.choice(('FIRST ', 'LAST ', ''))}{target}"

    def _definitions(self) -> str:
        defined = [variable for variable in (*self.variables, *self.absent) if self.random.random() < 0.8]
        written = [f"{variable} AS {self._condition(variable)}" for variable in defined]
        return f"DEFINE {', '.join(written)}" if written else ""

    def _condition(self, variable: str) -> str:
        is_absent = variable in self.absent

        def cell(column: str) -> str:
            inner = self._earlier(column, is_absent) if self.looks_back else self._tested(column, variable)
            return self._look_around(inner, 0.3)

        def fact(kind: Literal["number", "text"]) -> str:
            if kind == "text":
                asks = self.of_rows and not is_absent and self.random.random() < 0.7
                return self._text_of_rows(self._owner()) if asks else self._classifier(is_absent)
            number = () if self.in_window else ("MATCH_NUMBER()",)
            if self.of_rows and not is_absent and self.random.random() < 0.7:
                return self._number_of_rows(self._owner())
            return self.random.choice((*number, *(self._computed(self._owner(is_absent)) for _ in range(5))))

        facts = fact if self.looks_back and self.random.random() < 0.5 else None
        return ConditionWriter(self.random, cell, facts).condition(self.random.randint(0, 2))

    def _owner(self, needed: bool = False) -> str:
        """A variable with its dot, or nothing (all rows), unless one is needed."""
        return self.random.choice(
            [*([] if needed else [""]), *(f"{name}." for name in (*self.variables, *self.unions))]
        )

    def _tested(self, column: str, variable: str) -> str:
        return self.random.choice((column, f"{variable}.{column}", f"LAST({variable}.{column})"))

    def _earlier(self, column: str, is_absent: bool = False) -> str:
        """In the condition of an absent variable, only rows of other variables can be counted."""
        if is_absent and self.random.random() < 0.3:
            return column
        owner, offset = self._owner(is_absent), self.random.randint(0, 2)
        return self.random.choice((f"{owner}{column}", f"{owner}{column}", f"FIRST({owner}{column}, {offset})",
                                   f"FIRST({owner}{column})", f"LAST({owner}{column}, {offset})"))  # fmt: skip

    def _classifier(self, is_absent: bool = False) -> str:
        if is_absent and self.random.random() < 0.3:
            return "CLASSIFIER()"
        inside = f"CLASSIFIER({self._owner(is_absent).rstrip('.')})"
        return self.random.choice(
            (inside, inside, f"FIRST({inside})", f"LAST({inside}, 1)", f"PREV({inside})", f"NEXT({inside})")
        )

    def _look_around(self, cell: str, share: float) -> str:
        if self.random.random() >= share:
            return cell
        name, steps = self.random.choice(("PREV", "NEXT")), self.random.randint(0, 2)
        return f"{name}({cell})" if steps == 1 else f"{name}({cell}, {steps})"

    def _measure(self) -> str:
        owner = self._owner()
        column = self.random.choice(SCHEMA.names)
        kind = self.random.choice(
            ("cell", "cell", "cell", "classifier", "number", "aggregate", "aggregate", "computed")
        )
        if kind == "number":
            return "7" if self.in_window else self.random.choice(("MATCH_NUMBER()", "MATCH_NUMBER()", "7"))
        seen_from = self.random.choice(("", "RUNNING ", "FINAL "))
        if kind == "aggregate" and self.of_rows:
            write = self.random.choice((self._number_of_rows, self._text_of_rows, self._list_of_rows))
            return seen_from + write(owner)
        if kind == "aggregate":
            return seen_from + self._aggregate(owner)
        if kind == "classifier":
            return seen_from + self._classifier()
        if kind == "computed":
            return f"LAST({owner}i) - FIRST({owner}f) * 2"
        return seen_from + self._look_around(self._earlier(column), 0.5)

    def _aggregate(self, owner: str) -> str:
        """An aggregate for MEASURES: of any type."""
        column = self.random.choice(SCHEMA.names)
        rows = f"{owner}*" if owner else "*"
        return self.random.choice(
            (self._computed(owner), self._computed(owner), f"COUNT({rows})", f"MIN({owner}{column})",
             f"MAX({owner}{column})", f"MAX_BY({owner}{column}, {owner}i)",
             f"ARRAY_AGG({owner}w)", f"CARDINALITY(ARRAY_AGG(DISTINCT {owner}i))",
             f"BOOL_AND({owner}flag)", f"BOOL_OR({owner}i > 0)")
        )  # fmt: skip

    def _number_of_rows(self, owner: str) -> str:
        """An aggregate that the kernel leaves to others."""
        label = f"CLASSIFIER({owner.rstrip('.')})"
        numbered = () if self.in_window else (f"MAX({owner}i + MATCH_NUMBER())",)
        return self.random.choice(
            (*numbered, f"COUNT({label})", f"SUM(IF({label} = 'A', {owner}i, 1))", f"ANY_VALUE({owner}i)",
             f"CARDINALITY(ARRAY_AGG({owner}w))", f"CARDINALITY(MAX({owner}i, 2))", f"BITWISE_OR_AGG({owner}k)",
             f"CARDINALITY(MAP_AGG({owner}i, {label}))", f"MAX_BY({owner}i, {label})")
        )  # fmt: skip

    def _text_of_rows(self, owner: str) -> str:
        label = f"CLASSIFIER({owner.rstrip('.')})"
        return self.random.choice(
            (f"MAX({label})", f"MIN(LOWER({label}))", f"STRING_AGG({label}, '')", f"ANY_VALUE({owner}w)",
             f"STRING_AGG({owner}w || {label}, ',')", f"ELEMENT_AT(MAP_AGG({owner}k, {label}), 1)")
        )  # fmt: skip

    def _list_of_rows(self, owner: str) -> str:
        label = f"CLASSIFIER({owner.rstrip('.')})"
        return self.random.choice(
            (f"ARRAY_AGG({label})", f"MIN_BY({label}, {owner}i, 3)", f"ARRAY_AGG({owner}i ORDER BY {owner}i DESC)",
             f"ARRAY_AGG({owner}i) FILTER (WHERE {label} <> 'B')", f"ELEMENT_AT(MULTIMAP_AGG({label}, {owner}w), 'A')")
        )  # fmt: skip

    def _computed(self, owner: str) -> str:
        """An aggregate that gives a number; what is not exact is rounded."""
        column, other = self.random.choice(SCHEMA.names), self.random.choice(("i", "k"))
        distinct = self.random.choice(("", "", "DISTINCT "))
        rows = f"{owner}*" if owner else "*"
        return self.random.choice(
            (f"COUNT({rows})", f"COUNT({distinct}{owner}{column})", f"SUM({distinct}{owner}i)",
             f"SUM({owner}f)", f"ROUND(AVG({distinct}{owner}{other}), 6)", f"MIN({owner}f)", f"MAX({owner}i)",
             f"ROUND(STDDEV({owner}i), 6)", f"ROUND(VAR_POP({owner}{other}), 6)", f"MIN_BY({owner}i, {owner}ts)",
             f"MAX_BY({owner}f, {owner}w)", f"COUNT_IF({owner}i > 0)", f"SUM({owner}i * 2)",
             f"SUM({owner}i) FILTER (WHERE {owner}flag)", f"COUNT({rows}) FILTER (WHERE {owner}i > 1)")
        )  # fmt: skip


def make_row_pattern_case(seed: int) -> RowPatternCase:
    random = Random(seed)
    looks_back = random.random() < 0.5
    most = FEW if looks_back else MANY if random.random() < 0.08 else SOME
    in_window = random.random() < 0.15
    text, tie_breaker = QueryWriter(random, looks_back, most, in_window).write()
    events = make_events(
        seed,
        random.randint(0, most),
        keys=random.randint(1, 5),
        gaps=random.choice(((0, 1, 2), (0, 0, 0, 1), (1, 5))),
        null_orders=random.random() < 0.1,
    )
    return RowPatternCase(text, events, tie_breaker)


def make_rows_case(seed: int) -> RowPatternCase:
    """Aggregates that the kernel leaves to others, over few events: the reference twin asks for each of them alone."""
    random = Random(seed)
    text, tie_breaker = QueryWriter(random, True, ROWS, random.random() < 0.2, of_rows=True).write()
    events = make_events(seed, random.randint(1, ROWS), keys=random.randint(1, 2), gaps=(0, 1, 2), null_orders=False)
    return RowPatternCase(text, events, tie_breaker)
