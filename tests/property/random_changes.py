"""Random changes of a stream: the rows of a table come in some order, and some are taken back, come again, or are
replaced.

insert 1 v1, insert 2 v1 | retract 1 v1, insert 3 v1 | insert 1 v2 (with other values), insert 2 v2 (takes its place)
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pyarrow as pa

SECOND = 1_000_000


@dataclass(frozen=True)
class ChangeHabits:
    """taken_back, replaced: shares of the rows that are; late_rows: how many others a row may be behind its turn."""

    taken_back: float
    replaced: float
    late_rows: int
    text_matches: bool


def make_habits(random: Random) -> ChangeHabits:
    return ChangeHabits(
        random.choice((0.0, 0.3, 0.5)), random.choice((0.1, 0.3)), random.choice((0, 3, 40)), random.random() < 0.5
    )


def with_change_columns(schema: pa.Schema, text_matches: bool) -> pa.Schema:
    kind = pa.string() if text_matches else pa.int64()
    return pa.schema([("_change", pa.string()), ("_match", kind), ("_version", pa.int64()), *schema])


def make_changes(table: pa.Table, random: Random, habits: ChangeHabits) -> pa.Table:
    """The rows of a table, as changes in the order in which they are pushed."""
    steps: list[tuple[float, int, str, int, int]] = []  # turn, match, change, version, row of the table
    count = len(table)
    for match in range(count):
        turn = match + random.uniform(0, habits.late_rows)
        steps.append((turn, match, "insert", 1, match))
        version = 1
        present = match
        while random.random() < habits.taken_back:
            turn += random.uniform(0.1, 6)
            steps.append((turn, match, "retract", version + random.choice((0, 1)), present))
            if random.random() < 0.5:
                break
            turn, version, present = turn + random.uniform(0.1, 6), version + 2, random.randrange(count)
            steps.append((turn, match, "insert", version, present))
        else:
            if random.random() < habits.replaced:
                steps.append((turn + random.uniform(0.1, 9), match, "insert", version + 1, random.randrange(count)))
    steps.sort()
    schema = with_change_columns(table.schema, habits.text_matches)
    rows = table.take(pa.array([step[4] for step in steps], pa.int64()))
    matches = [f"m{step[1]}" if habits.text_matches else step[1] for step in steps]
    told = [
        pa.array([step[2] for step in steps], pa.string()),
        pa.array(matches, schema.field("_match").type),
        pa.array([step[3] for step in steps], pa.int64()),
    ]
    return pa.table([*told, *rows.columns], schema=schema)
