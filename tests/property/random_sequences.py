"""Random SEQ queries over one or two streams, and the events to run them on.

Every construct takes part: repeated terms with conditions on their elements, absences at the start, between and at the
end, alternatives, any order, joint conditions, keys, consumption, limits and timeouts, under each strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pyarrow as pa
from random_conditions import ConditionWriter
from random_events import SCHEMA, make_events

STRATEGIES = ("skip_till_any", "skip_till_next", "skip_till_next", "strict", "partition_contiguity")
POSITIVE, ABSENT = ("a", "b", "c", "d"), ("u", "v")
MOST_EVENTS = {"skip_till_any": 14, "skip_till_next": 40, "strict": 120, "partition_contiguity": 120}
NUMBER_AGGREGATES = (
    "count({0})", "count({0}.{1})", "count(DISTINCT {0}.{1})", "sum({0}.{1})", "sum(DISTINCT {0}.{1})", "avg({0}.{1})",
    "min({0}.{1})", "max({0}.{1})", "stddev({0}.{1})", "var_pop({0}.{1})", "max_by({0}.{1}, {0}.w)",
    "min_by({0}.{1}, {0}.at)", "count_if({0}.i > 0)", "sum({0}.i + {0}.k)",
)  # fmt: skip
OTHER_AGGREGATES = ("min({0}.{1})", "max({0}.{1})", "max_by({0}.{1}, {0}.f)")


@dataclass(frozen=True)
class SequenceCase:
    text: str
    tables: dict[str, pa.Table]

    def __repr__(self) -> str:
        shown = {name: table.slice(0, 60).to_pylist() for name, table in self.tables.items()}
        return f"{self.text}\n{shown}\n"


@dataclass
class SequenceWriter:
    random: Random
    strategy: str
    streams: list[str]
    items: list[str] = field(default_factory=list)
    place_of: dict[str, int] = field(default_factory=dict)  # number of the item, by variable
    repeated: set[str] = field(default_factory=set)
    absent: list[str] = field(default_factory=list)

    def write(self) -> str:
        random = self.random
        self._write_items()
        self.variables = [*self.place_of]
        conditions = [*self._keys(), *self._single_conditions(), *self._joint_conditions()]
        random.shuffle(conditions)
        at_edge = self.items[0].startswith("~") or self.items[-1].startswith("~")
        within = f"WITHIN INTERVAL '{random.randint(1, 10)}' SECOND" if at_edge or random.random() < 0.7 else ""
        timeouts = within and self.strategy != "skip_till_any" and random.random() < 0.25
        consume = not self.items[-1].startswith("~") and random.random() < 0.2
        limit = random.choice(("DROP OLDEST", "DROP OLDEST", "REFUSE", "")) if random.random() < 0.2 else None
        lines = [
            f"SELECT {', '.join([*self._outputs(), *(['TIMED_OUT() AS late'] if timeouts else [])])}",
            f"FROM PATTERN SEQ({', '.join(self.items)})",
            random.choice(("ORDER BY ts", "ORDER BY ts", "ORDER BY ts, n")),
            f"WHERE {' AND '.join(conditions)}" if conditions else "",
            f"{within} TIMEOUT ROWS" if timeouts else within,
            f"STRATEGY {self.strategy}",
            "CONSUME MATCHED" if consume else random.choice(("", "REUSE")),
            f"LIMIT PARTIALS {random.randint(1, 4)} {limit}" if limit is not None else "",
        ]
        return "\n".join(line for line in lines if line)

    # --- items --------------------------------------------------------------------------------------------
    def _write_items(self) -> None:
        random = self.random
        left = list(POSITIVE[: random.randint(1, 4)])
        constructs = random.random() < 0.8
        while left:
            kind = random.choice(("plain", "plain", "repeated", "one_of", "all_of")) if constructs else "plain"
            if kind in ("one_of", "all_of") and len(left) > 1:
                count = random.randint(2, len(left))
                chosen, left = left[:count], left[count:]
                again = [kind == "one_of" and random.random() < 0.3 for _ in chosen]
                terms = [self._term(name, repeats) for name, repeats in zip(chosen, again, strict=True)]
                item = f"({(' | ' if kind == 'one_of' else ' & ').join(terms)})"
            else:
                chosen = [left.pop(0)]
                item = self._term(chosen[0], kind == "repeated")
            self.place_of |= dict.fromkeys(chosen, len(self.items))
            self.items.append(item)
        for name in ABSENT[: random.choice((0, 0, 1, 1, 2)) if constructs else 0]:
            place = random.randint(0, len(self.items))
            self.items.insert(place, f"~{self._stream()} {name}")
            self.place_of = {other: at + (at >= place) for other, at in self.place_of.items()}
            self.place_of[name] = place
            self.absent.append(name)
        # every stream is read, so that every table has a place
        for number, stream in enumerate(self.streams[: len(self.items)]):
            self.items[number] = self.items[number].replace("?", stream, 1)
        self.items = [self._fill_streams(item) for item in self.items]

    def _stream(self) -> str:
        return "?"

    def _fill_streams(self, item: str) -> str:
        while "?" in item:
            item = item.replace("?", self.random.choice(self.streams), 1)
        return item

    def _term(self, name: str, repeats: bool) -> str:
        if repeats:
            self.repeated.add(name)
        return f"{self._stream()}{'+' if repeats else ''} {name}{'[]' if repeats else ''}"

    # --- what is read -------------------------------------------------------------------------------------
    def _outputs(self) -> list[str]:
        found = []
        for variable in self.variables:
            if variable in self.absent:
                continue
            column = self.random.choice(SCHEMA.names)
            if variable not in self.repeated:
                found.append(f"{variable}.{column} AS {variable}_{column}")
                continue
            form = self.random.choice(("{0}[1].{1}", "{0}[last].{1}", "{0}.{1}", "FIRST({0}.{1})", "{0}[2].{1}"))
            found.append(f"{form.format(variable, column)} AS {variable}_{column}")
            found.append(f"CAST(array_agg({variable}[].n) AS VARCHAR) AS {variable}_all")
            aggregate = self.random.choice(NUMBER_AGGREGATES).format(f"{variable}[]", self.random.choice(("i", "f")))
            found.append(f"{aggregate} AS {variable}_aggregate")
        return found

    def _keys(self) -> list[str]:
        """Equalities along a chain of variables; not always along all of them."""
        found = []
        for column in self.random.choice(((), ("k",), ("k",), ("s",), ("k", "s"), ("f",))):
            order = self.random.sample(self.variables, len(self.variables))
            order = order if self.random.random() < 0.8 or len(order) < 2 else order[1:]
            there = [name for name in order if name not in self.absent]
            found += [f"{left}.{column} = {right}.{column}" for left, right in pairwise(there)]
            gone = [name for name in order if name in self.absent and there]
            found += [f"{self.random.choice(there)}.{column} = {name}.{column}" for name in gone]
        return found

    def _single_conditions(self) -> list[str]:
        chosen = [variable for variable in self.variables if self.random.random() < 0.6]
        return [self._condition([variable], self.random.randint(0, 2)) for variable in chosen]

    def _joint_conditions(self) -> list[str]:
        count = self.random.randint(0, 2) if len(self.variables) > 1 else 0
        found = []
        for _ in range(count):
            chosen = self.random.sample(self.variables, 2)
            if sum(name in self.absent for name in chosen) < 2:
                found.append(self._condition(chosen, self.random.randint(0, 1)))
        return found

    def _condition(self, variables: list[str], depth: int) -> str:
        def cell(column: str) -> str:
            return self._cell(self.random.choice(variables), column, variables)

        return ConditionWriter(self.random, cell).condition(depth)

    def _cell(self, variable: str, column: str, beside: list[str]) -> str:
        """A column of a variable; of a repeated one, some element or aggregate of the same kind."""
        if variable not in self.repeated or self.random.random() < 0.3:
            return f"{variable}.{column}"
        later = any(self.place_of[name] > self.place_of[variable] or name in self.absent for name in beside)
        if later:
            return self._settled(variable, column)
        write: Callable[[str, str], str] = self.random.choice((self._element, self._aggregate))
        return write(variable, column)

    def _element(self, variable: str, column: str) -> str:
        index = self.random.choice(("i", "i-1", "i-1", "i-2", "1", "2", "last", "i - 1"))
        return f"{variable}[{index}].{column}"

    def _aggregate(self, variable: str, column: str) -> str:
        owner = f"{variable}{self.random.choice(('[]', '[..i-1]', '[..i-1]'))}"
        return self._aggregate_of(owner, column)

    def _settled(self, variable: str, column: str) -> str:
        if self.random.random() < 0.5:
            return f"{variable}[{self.random.choice(('1', 'last', '2'))}].{column}"
        return self._aggregate_of(f"{variable}[]", column)

    def _aggregate_of(self, owner: str, column: str) -> str:
        if column == "flag":
            return self.random.choice(("bool_and({0}.flag)", "bool_or({0}.flag)")).format(owner)
        if column == "w":  # inside UPPER, which no host can apply to an aggregate
            return f"{owner.split('[', 1)[0]}[1].w"
        numbers = column in ("i", "f", "k", "n")
        return self.random.choice(NUMBER_AGGREGATES if numbers else OTHER_AGGREGATES).format(owner, column)


def make_sequence_case(seed: int) -> SequenceCase:
    random = Random(seed)
    strategy = random.choice(STRATEGIES)
    streams = random.choice((["x"], ["x", "y"]))
    writer = SequenceWriter(random, strategy, streams)
    text = writer.write()
    read = [stream for stream in streams if any(f"{stream} " in item or f"{stream}+" in item for item in writer.items)]
    most = (10 if strategy == "skip_till_any" and writer.repeated else MOST_EVENTS[strategy]) // len(streams)
    keys, gaps = random.randint(1, 5), random.choice(((0, 1, 2), (0, 0, 0, 1), (1, 5)))
    null_orders = random.random() < 0.1
    tables = {
        stream: make_events(seed + number, random.randint(0, most), keys=keys, gaps=gaps, null_orders=null_orders)
        for number, stream in enumerate(read)
    }
    return SequenceCase(text, tables)
