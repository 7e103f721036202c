"""Random changes of a few rows, cut into batches, and the ways in which batches may come: late, twice, again."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("_change", pa.string()),
        ("_match", pa.string()),
        ("_version", pa.int64()),
        ("bus", pa.int32()),
        ("delay", pa.float64()),
        ("line", pa.string()),
    ]
)
Change = tuple[Any, ...]
LINES = ["", "7", 'with, comma and "quotes"', None, "ü\n"]


@dataclass
class ChangeMaker:
    """What is there, by match; versions grow in one of the two ways in which they may: a retract has the version of its
    insert, or one of its own."""

    random: Random
    alive: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def make(self, count: int) -> list[Change]:
        rows: list[Change] = []
        while len(rows) < count:
            match = f"m{self.random.randrange(12)}"
            version = self.versions.get(match, 0)
            if match in self.alive:
                version += self.random.choice((0, 1))
                rows.append(("retract", match, version, *self.alive.pop(match)))
            if self.random.random() < 0.6:
                version += self.random.choice((1, 1, 5))
                delay = self.random.choice((None, 0.5, -3.25, float(self.random.randrange(9))))
                self.alive[match] = (self.random.randrange(3), delay, self.random.choice(LINES))
                rows.append(("insert", match, version, *self.alive[match]))
            self.versions[match] = version
        return rows


def make_table(rows: list[Change]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    return pa.table([list(column) for column in columns], schema=SCHEMA)


def make_deliveries(random: Random, batches: list[list[Change]], overtaken: int) -> list[tuple[int, pa.Table]]:
    """When each comes, and what: at least once, some again, some glued together, none later than so many others."""
    told = []
    for number, batch in enumerate(batches):
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            rows = list(batch)
            if random.random() < 0.2:
                rows += random.choice((batch, batches[max(0, number - 1)]))
            told.append((number + random.randrange(overtaken + 1), make_table(rows)))
    random.shuffle(told)
    return sorted(told, key=lambda delivery: delivery[0])
