"""What the checkpoint of a session says of its queries, and what becomes of that when they change.

    record of the checkpoint + queries that are wanted + the next batch ─renew─▶ record with which the stream goes on

A stage is a stateful vertex, or several that run together.  It keeps its number, and with it its state, as long as a
query has it: a stage is the same if its digest is, and if it began in the same batch, since one that began earlier has
seen more.  Numbers are never given twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.errors import SnapshotMismatch
from cepheid.execution.spark.stage_record import StageRecord, check_stages, read_stage

FORMAT = 1


@dataclass(frozen=True, slots=True)
class KnownStage:
    record: StageRecord
    began: int  # the first batch that it saw


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """since: the first batch of it as it is.  stages: by digest, their numbers."""

    since: int
    stages: Mapping[str, int]


@dataclass(frozen=True)
class SessionRecord:
    """leaving: stages that no query has any more, and whose state is still there."""

    sources: tuple[str, ...] = ()
    queries: Mapping[str, KnownQuery] = field(default_factory=dict)
    stages: Mapping[int, KnownStage] = field(default_factory=dict)
    next_stage: int = 0
    leaving: tuple[int, ...] = ()

    def write(self) -> str:
        queries = {name: {"since": query.since, "stages": dict(query.stages)} for name, query in self.queries.items()}
        stages = {
            str(number): {**stage.record.as_dict(), "began": stage.began} for number, stage in self.stages.items()
        }
        return json.dumps(
            {
                "format": FORMAT,
                "sources": self.sources,
                "queries": queries,
                "stages": stages,
                "next_stage": self.next_stage,
                "leaving": self.leaving,
            }
        )


def read_record(text: str, place: str) -> SessionRecord:
    """place: the file, for messages."""
    try:
        stored: dict[str, Any] = json.loads(text)
        if stored["format"] != FORMAT:
            raise SnapshotMismatch(
                f'"{place}" was written by another version of Cepheid', hint="begin with a new checkpoint"
            )
        return SessionRecord(
            tuple(stored["sources"]),
            {name: KnownQuery(each["since"], each["stages"]) for name, each in stored["queries"].items()},
            {int(number): KnownStage(read_stage(each), each["began"]) for number, each in stored["stages"].items()},
            stored["next_stage"],
            tuple(stored["leaving"]),
        )
    except (ValueError, KeyError, TypeError) as problem:
        raise SnapshotMismatch(
            f'"{place}", which says what the checkpoint holds, is damaged: {problem!r}',
            hint="put it back from a copy; the state cannot be read without it",
        ) from None


def has_changed(known: SessionRecord, name: str, stages: Mapping[str, StageRecord], place: str) -> bool:
    """Would a query that the checkpoint knows lose state?  stages: by digest.  Raises if its stages are the same, but
    mean something else now: another zone, another number of key groups."""
    before = known.queries.get(name)
    if before is None:
        return False
    for digest, number in before.stages.items():
        if digest in stages:
            check_stages([known.stages[number].record], [stages[digest]], place)
    return set(before.stages) != set(stages)


def renew(known: SessionRecord, wanted: Mapping[str, Mapping[str, StageRecord]], batch: int) -> SessionRecord:
    """wanted: by query, its stages by digest.  batch: the next, from which this holds."""
    queries: dict[str, KnownQuery] = {}
    stages: dict[int, KnownStage] = {}
    next_stage = known.next_stage
    fresh = {stage.record.digest: number for number, stage in known.stages.items() if stage.began == batch}
    for name, records in wanted.items():
        before = known.queries.get(name, KnownQuery(batch, {}))
        numbers: dict[str, int] = {}
        for digest, record in records.items():
            number = before.stages.get(digest, fresh.get(digest))
            if number is None:
                number = fresh[digest] = next_stage
                next_stage += 1
            numbers[digest] = number
            stages[number] = KnownStage(record, known.stages[number].began if number in known.stages else batch)
        is_same = set(numbers) == set(before.stages)
        queries[name] = KnownQuery(before.since if is_same else batch, numbers)
    gone = tuple(number for number in known.stages if number not in stages)
    return SessionRecord(known.sources, queries, stages, next_stage, (*known.leaving, *gone))


def forget_left(known: SessionRecord, left: set[int]) -> SessionRecord:
    """left: stages whose state is gone."""
    return replace(known, leaving=tuple(number for number in known.leaving if number not in left))
