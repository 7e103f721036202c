"""Random SEQ queries whose steps say themselves how they follow one another, and the events to run them on.

Links in words, counts, greedy or not, UNTIL, groups in turn, of which one and in any order, absences with FOR in every
place where they may stand, EVERY and ONCE, with keys and conditions between events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, count, islice, product
from random import Random

import pyarrow as pa
from random_events import make_events
from random_sequences import SequenceCase

import cepheid as cep
from cepheid.errors import InvalidQuery, InvalidWithin, NotSupportedYet

LINKS = (", ", ", ", " NEXT ", " FOLLOWED BY ", " FOLLOWED BY ", " FOLLOWED BY ANY ")
COUNTS = ("", "", "", "", "+", "*", "?", "{2}", "{1,2}", "{2,}", "{,2}")
STRATEGIES = ("", "", "", "STRATEGY skip_till_any", "STRATEGY strict", "STRATEGY partition_contiguity")
ALONE = (
    "{0}.i > 0",
    "{0}.i < 2",
    "{0}.i IN (1, 2, 3)",
    "{0}.flag",
    "NOT {0}.flag",
    "{0}.w > 'a'",
    "{0}.i = 1",
    "{0}.f > 0.5",
)
JOINT = ("{0}.i < {1}.i", "{0}.i >= {1}.i", "{0}.w = {1}.w", "{0}.i + {1}.i > 1", "{0}.f <> {1}.f")
AGGREGATES = ("count({0}[]) < 3", "sum({0}[].i) < 6", "avg({0}[..i-1].i) <= {0}.i", "{0}[i].i >= {0}[i-1].i")


@dataclass
class WaysWriter:
    random: Random
    streams: list[str]
    there: list[str] = field(default_factory=list)  # variables, as written
    absent: dict[str, int] = field(default_factory=dict)  # and how many were there before
    repeated: set[str] = field(default_factory=set)

    def write(self) -> str:
        random = self.random
        strategy = random.choice(STRATEGIES)
        items = self._write_row(random.randint(1, 4), depth=2, looped=False, first=True)
        conditions = [*self._conditions(), *self._keys()]
        within = f"WITHIN INTERVAL '{random.randint(2, 12)}' SECOND" if random.random() < 0.6 else ""
        timeouts = bool(within) and random.random() < 0.3
        once = random.choice(("", "", "", "", "ONCE", "ONCE PER KEY", "PER KEY"))
        lines = [
            f"SELECT {', '.join([*self._outputs(), 'MATCH_TIME() AS t'])}{', TIMED_OUT() AS late' if timeouts else ''}",
            f"FROM PATTERN SEQ({items})",
            random.choice(("ORDER BY ts", "ORDER BY ts", "ORDER BY ts, n")),
            f"WHERE {' AND '.join(conditions)}" if conditions else "",
            f"{within} TIMEOUT ROWS" if timeouts else within,
            strategy,
            once,
        ]
        return "\n".join(line for line in lines if line)

    # --- items --------------------------------------------------------------------------------------------
    def _write_row(self, count: int, depth: int, looped: bool, first: bool) -> str:
        written = ""
        for number in range(count):
            begins = first and number == 0
            if number and self.random.random() < 0.2:
                written += self.random.choice((", ~{}", " NOT NEXT {}", " NOT FOLLOWED BY {}")).format(self._absent())
            if number:
                written += self.random.choice(LINKS)
            written += self._write_item(depth, looped, begins)
        return written

    def _write_item(self, depth: int, looped: bool, begins: bool) -> str:
        random = self.random
        kind = random.choice(("term", "term", "term", "one_of", "all_of", "turn", "wait", "every"))
        every = "EVERY " if random.random() < 0.25 else ""
        if kind == "wait" and not looped:
            return f"{every}~{self._absent()} FOR INTERVAL '{random.randint(1, 4)}' SECOND"
        if kind == "one_of" and depth:
            waits = 0 if looped or random.random() < 0.6 else random.choice((1, 1, 2))
            timed = [f"~{self._absent()} FOR {random.randint(1, 3)} s" for _ in range(waits)]
            terms = [self._term("", looped) for _ in range(random.randint(max(0, 2 - waits), 2))]
            options = "" if timed or every else self._options(looped)
            return f"{'' if looped else every}({' | '.join([*terms, *timed])}){options}"
        if kind == "all_of" and depth and not looped:
            members = [self._term("", looped) for _ in range(random.randint(0, 2))]
            while len(members) < 2 or random.random() < 0.3:
                lasting = "" if members and random.random() < 0.3 else f" FOR {random.randint(1, 2)} s"
                members.append(f"~{self._absent()}{lasting}")
            return f"{every}({' & '.join(members)})"
        if kind == "turn" and depth:
            count = random.choice(("", "+", "{2}", "{1,2}", "*"))
            inner = self._write_row(random.randint(1, 2), depth - 1, looped or count != "", first=begins)
            return f"{every if not count else ''}({inner}){count}{self._loop_options() if count else ''}"
        count = random.choice(COUNTS)
        return f"{'EVERY ' if kind == 'every' else ''}{self._term(count, looped)}"

    def _options(self, looped: bool) -> str:
        return self.random.choice(("", "", "+", "{2}")) if looped else ""

    def _term(self, count: str, looped: bool) -> str:
        name = "abcdefgh"[len(self.there) % 8] + ("" if len(self.there) < 8 else str(len(self.there)))
        self.there.append(name)
        many = count not in ("", "?")
        if many or looped:
            self.repeated.add(name)
        options = self._loop_options() if count else ""
        return f"{self._stream()}{count} {name}{'[]' if many else ''}{options}"

    def _loop_options(self) -> str:
        random = self.random
        inner = random.choice(("", "", " CONSECUTIVE", " COMBINATIONS"))
        greedy = " GREEDY" if random.random() < 0.25 else ""
        until = f" UNTIL {self._absent()}" if random.random() < 0.2 else ""
        return f"{inner}{greedy}{until}"

    def _absent(self) -> str:
        name = f"x{len(self.absent)}"
        self.absent[name] = len(self.there)
        return f"{self._stream()} {name}"

    def _stream(self) -> str:
        return self.random.choice(self.streams)

    # --- what is read -------------------------------------------------------------------------------------
    def _outputs(self) -> list[str]:
        return [
            f"CAST(array_agg({name}[].n) AS VARCHAR) AS {name}" if name in self.repeated else f"{name}.n AS {name}"
            for name in self.there
        ]

    def _conditions(self) -> list[str]:
        random = self.random
        found = [random.choice(ALONE).format(name) for name in (*self.there, *self.absent) if random.random() < 0.85]
        for _ in range(random.randint(0, 2)):
            if len(self.there) > 1:
                left, right = random.sample(self.there, 2)
                found.append(random.choice(JOINT).format(left, right))
        for name, before in self.absent.items():
            if before and random.random() < 0.3:
                found.append(random.choice(JOINT).format(random.choice(self.there[:before]), name))
        found += [random.choice(AGGREGATES).format(name) for name in sorted(self.repeated) if random.random() < 0.3]
        return found

    def _keys(self) -> list[str]:
        if self.random.random() < 0.5:
            return []
        names = [*self.there, *self.absent]
        return [f"{self.there[0]}.k = {name}.k" for name in names[1:]] if self.there else []


class KeyedWays(WaysWriter):
    """Each pair of variables is tied, so that every match is of one key."""

    def _keys(self) -> list[str]:
        key = self.random.choice(("k", "k", "s"))
        ties = [*combinations(self.there, 2), *product(self.there, self.absent)]
        return [f"{left}.{key} = {right}.{key}" for left, right in ties]


@cache
def list_ways_cases(many: int, keyed: bool = False) -> list[tuple[int, SequenceCase]]:
    """So many cases that can be run, with their seeds."""
    return list(islice(_make_cases(keyed), many))


def _make_cases(keyed: bool) -> Iterator[tuple[int, SequenceCase]]:
    for seed in count():
        case = make_ways_case(seed, keyed)
        try:
            cep.explain(case.text, **case.tables)
        except (NotSupportedYet, InvalidQuery, InvalidWithin):
            continue
        yield seed, case


def make_ways_case(seed: int, keyed: bool = False) -> SequenceCase:
    random = Random(seed)
    streams = random.choice((["x"], ["x"], ["x", "y"]))
    text = (KeyedWays if keyed else WaysWriter)(random, streams).write()
    read = [stream for stream in streams if f"{stream} " in text or any(f"{stream}{mark}" in text for mark in "+*?{")]
    gaps = random.choice(((0, 1, 2), (0, 0, 0, 1), (1, 5)))
    most = 16 // len(streams)
    tables: dict[str, pa.Table] = {
        stream: make_events(seed + number, random.randint(0, most), keys=random.randint(1, 3), gaps=gaps)
        for number, stream in enumerate(read)
    }
    return SequenceCase(text, tables)
