"""Random MATCH_RECOGNIZE queries, and the events to run them on.

What would take the reference twin for ever is left out: conditions that look back into the match come with few
events and without loops inside loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pyarrow as pa
from random_conditions import ConditionWriter
from random_events import SCHEMA, make_events

VARIABLES = ("a", "b", "c", "d", "e")
MOST_TERMS = 6
FEW, SOME, MANY = 24, 60, 2000


@dataclass(frozen=True)
class RowPatternCase:
    text: str
    events: pa.Table
    tie_breaker: bool

    def __repr__(self) -> str:
        return f"{self.text}\n{self.events.slice(0, 60).to_pylist()}\n"


@dataclass
class PatternWriter:
    """A row pattern; remembers its variables in the order of appearance."""

    random: Random
    nests_loops: bool
    terms: int = 0
    loops: int = 0
    variables: dict[str, None] = field(default_factory=dict)

    def write(self, depth: int, in_loop: bool) -> str:
        kind = self.random.choice(("term", "sequence", "sequence", "options", "group")) if depth else "term"
        if kind == "term" or self.terms >= MOST_TERMS:
            return self._term() + self._quantifier(in_loop)[0]
        if kind == "group":
            quantifier, loops = self._quantifier(in_loop)
            return f"({self.write(depth - 1, in_loop or loops)}){quantifier}"
        parts = [self.write(depth - 1, in_loop) for _ in range(self.random.randint(2, 3))]
        if kind == "options" and self.random.random() < 0.1:
            parts.append("()")
        return f"({' | '.join(parts)})" if kind == "options" else " ".join(parts)

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

    def write(self) -> tuple[str, bool]:
        """The query, and whether a second column decides ties."""
        random = self.random
        pattern = PatternWriter(random, nests_loops=not self.looks_back)
        written = pattern.write(3, in_loop=False)
        self.variables = list(pattern.variables)
        self.unions = {"u": random.choices(self.variables, k=2)} if random.random() < 0.3 else {}
        self.all_rows = random.random() < 0.5
        self.skips_little = self.most_events <= SOME and random.random() < 0.4
        tie_breaker = random.random() < 0.2
        keys = random.choice(([], ["k"], ["k"], ["s"], ["k", "s"], ["f"]))
        measures = [f"{self._measure()} AS m{number}" for number in range(random.randint(1, 4))]
        lines = [
            f"PARTITION BY {', '.join(keys)}" if keys else "",
            "ORDER BY ts, n" if tie_breaker else "ORDER BY ts",
            f"MEASURES {', '.join(measures)}",
            self._rows_per_match(),
            self._after_match(),
            f"PATTERN ({written})",
            self._within(),
            "".join(f"SUBSET {name} = ({', '.join(dict.fromkeys(members))})" for name, members in self.unions.items()),
            self._definitions(),
        ]
        clause = "\n  ".join(line for line in lines if line)
        # A filter may take away the very partition that breaks the rule of a skip clause.
        where = "" if "SKIP TO" in clause else self._filter(keys)
        return f"SELECT {self._selected()} FROM t MATCH_RECOGNIZE (\n  {clause}\n){where}", tie_breaker

    def _selected(self) -> str:
        return self.random.choice(("*", "*", "*", "m0", "m0 AS x, m0 AS y"))

    def _filter(self, keys: list[str]) -> str:
        tests = {"k": "k = 1", "s": "s <> 'a'", "f": "f > 0"}
        chosen = [tests[key] for key in keys if self.random.random() < 0.2]
        return f" WHERE {' AND '.join(chosen)}" if chosen else ""

    def _rows_per_match(self) -> str:
        if not self.all_rows:
            return self.random.choice(("ONE ROW PER MATCH", ""))
        empty = self.random.choice(("", " SHOW EMPTY MATCHES", " OMIT EMPTY MATCHES"))
        return f"ALL ROWS PER MATCH{empty}"

    def _after_match(self) -> str:
        if not self.skips_little:
            return self.random.choice(("", "AFTER MATCH SKIP PAST LAST ROW"))
        if self.random.random() < 0.5:
            return "AFTER MATCH SKIP TO NEXT ROW"
        target = self.random.choice([*self.variables, *self.unions])
        return f"AFTER MATCH SKIP TO {self.random.choice(('FIRST ', 'LAST ', ''))}{target}"

    def _within(self) -> str:
        return f"WITHIN INTERVAL '{self.random.randint(1, 12)}' SECOND" if self.random.random() < 0.5 else ""

    def _definitions(self) -> str:
        defined = [variable for variable in self.variables if self.random.random() < 0.8]
        written = [f"{variable} AS {self._condition(variable)}" for variable in defined]
        return f"DEFINE {', '.join(written)}" if written else ""

    def _condition(self, variable: str) -> str:
        def cell(column: str) -> str:
            return self._look_around(self._earlier(column) if self.looks_back else self._tested(column, variable), 0.3)

        return ConditionWriter(self.random, cell).condition(self.random.randint(0, 2))

    def _tested(self, column: str, variable: str) -> str:
        return self.random.choice((column, f"{variable}.{column}", f"LAST({variable}.{column})"))

    def _earlier(self, column: str) -> str:
        owner = self.random.choice(["", *(f"{name}." for name in (*self.variables, *self.unions))])
        offset = self.random.randint(0, 2)
        return self.random.choice((f"{owner}{column}", f"{owner}{column}", f"FIRST({owner}{column}, {offset})",
                                   f"FIRST({owner}{column})", f"LAST({owner}{column}, {offset})"))  # fmt: skip

    def _look_around(self, cell: str, share: float) -> str:
        if self.random.random() >= share:
            return cell
        name, steps = self.random.choice(("PREV", "NEXT")), self.random.randint(0, 2)
        return f"{name}({cell})" if steps == 1 else f"{name}({cell}, {steps})"

    def _measure(self) -> str:
        owner = self.random.choice(["", *(f"{name}." for name in (*self.variables, *self.unions))])
        column = self.random.choice(SCHEMA.names)
        kind = self.random.choice(("cell", "cell", "cell", "cell", "classifier", "number", "aggregate", "computed"))
        if kind == "number":
            return "MATCH_NUMBER()"
        if kind == "aggregate":
            return self._aggregate(owner)
        seen_from = self.random.choice(("", "RUNNING ", "FINAL "))
        if kind == "classifier":
            inside = f"CLASSIFIER({owner.rstrip('.')})"
            return seen_from + self.random.choice((inside, f"FIRST({inside})", f"LAST({inside}, 1)"))
        if kind == "computed":
            return f"LAST({owner}i) - FIRST({owner}f) * 2"
        return seen_from + self._look_around(self._earlier(column), 0.5)

    def _aggregate(self, owner: str) -> str:
        summed = self.random.choice(("i", "f"))
        column = self.random.choice(SCHEMA.names)
        written = self.random.choice(
            ("COUNT(*)", f"COUNT({owner}{column})", f"SUM({owner}{summed})", f"AVG({owner}{summed})",
             f"MIN({owner}{column})", f"MAX({owner}{column})")
        )  # fmt: skip
        return f"FINAL {written}" if self.all_rows else written


def make_row_pattern_case(seed: int) -> RowPatternCase:
    random = Random(seed)
    looks_back = random.random() < 0.5
    most = FEW if looks_back else MANY if random.random() < 0.08 else SOME
    text, tie_breaker = QueryWriter(random, looks_back, most).write()
    events = make_events(
        seed,
        random.randint(0, most),
        keys=random.randint(1, 5),
        gaps=random.choice(((0, 1, 2), (0, 0, 0, 1), (1, 5))),
        null_orders=random.random() < 0.1,
    )
    return RowPatternCase(text, events, tie_breaker)
