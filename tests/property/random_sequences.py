"""Random SEQ queries over one or two streams, and the events to run them on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pyarrow as pa
from random_conditions import ConditionWriter
from random_events import SCHEMA, make_events

STRATEGIES = ("skip_till_any", "skip_till_next", "strict", "partition_contiguity")
VARIABLES = ("a", "b", "c", "d")
MOST_EVENTS = {"skip_till_any": 16, "skip_till_next": 60, "strict": 400, "partition_contiguity": 400}


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

    def write(self) -> str:
        random = self.random
        self.variables = VARIABLES[: random.randint(1, 4)]
        terms = [f"{random.choice(self.streams)} {variable}" for variable in self.variables]
        # every stream is read, so that every table has a place
        for number, stream in enumerate(self.streams[: len(terms)]):
            terms[number] = f"{stream} {self.variables[number]}"
        conditions = [*self._keys(), *self._single_conditions(), *self._joint_conditions()]
        random.shuffle(conditions)
        lines = [
            f"SELECT {', '.join(self._outputs())}",
            f"FROM PATTERN SEQ({', '.join(terms)})",
            random.choice(("ORDER BY ts", "ORDER BY ts", "ORDER BY ts, n")),
            f"WHERE {' AND '.join(conditions)}" if conditions else "",
            f"WITHIN INTERVAL '{random.randint(1, 10)}' SECOND" if random.random() < 0.7 else "",
            f"STRATEGY {self.strategy}",
        ]
        return "\n".join(line for line in lines if line)

    def _outputs(self) -> list[str]:
        chosen = [(variable, self.random.choice(SCHEMA.names)) for variable in self.variables]
        return [f"{variable}.{column} AS {variable}_{column}" for variable, column in chosen]

    def _keys(self) -> list[str]:
        """Equalities along a chain of variables; not always along all of them."""
        found = []
        for column in self.random.choice(((), ("k",), ("k",), ("s",), ("k", "s"), ("f",))):
            order = self.random.sample(self.variables, len(self.variables))
            order = order if self.random.random() < 0.8 else order[:-1]
            found += [f"{left}.{column} = {right}.{column}" for left, right in pairwise(order)]
        return found

    def _single_conditions(self) -> list[str]:
        chosen = [variable for variable in self.variables if self.random.random() < 0.5]
        return [self._condition([variable], self.random.randint(0, 2)) for variable in chosen]

    def _joint_conditions(self) -> list[str]:
        count = self.random.randint(0, 2) if len(self.variables) > 1 else 0
        return [self._condition(self.random.sample(self.variables, 2), self.random.randint(0, 1)) for _ in range(count)]

    def _condition(self, variables: list[str], depth: int) -> str:
        def cell(column: str) -> str:
            return f"{self.random.choice(variables)}.{column}"

        return ConditionWriter(self.random, cell).condition(depth)


def make_sequence_case(seed: int) -> SequenceCase:
    random = Random(seed)
    strategy = random.choice(STRATEGIES)
    streams = random.choice((["x"], ["x", "y"]))
    text = SequenceWriter(random, strategy, streams).write()
    read = [stream for stream in streams if f"{stream} " in text.split("(", 1)[1].split(")", 1)[0]]
    most = MOST_EVENTS[strategy] // len(streams)
    keys, gaps = random.randint(1, 5), random.choice(((0, 1, 2), (0, 0, 0, 1), (1, 5)))
    null_orders = random.random() < 0.1
    tables = {
        stream: make_events(seed + number, random.randint(0, most), keys=keys, gaps=gaps, null_orders=null_orders)
        for number, stream in enumerate(read)
    }
    return SequenceCase(text, tables)
