"""The stateful stage of a session: all its stages in one operator of Spark, each with labels of its own.

    envelopes of a label ─▶ the stage that has the label ─▶ EngineProcessor or ChainProcessor, over the state of it

For Spark the operator is the same whatever queries there are, so that a session goes on from its checkpoint with other
ones.  The state of a stage that no query has any more is removed when an envelope says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.execution.blob import read_blob, write_table
from cepheid.execution.spark.chain_processor import ChainProcessor, ChainTask
from cepheid.execution.spark.envelopes import Packing
from cepheid.execution.spark.handoff import read_payload
from cepheid.execution.spark.key_groups import choose_labels
from cepheid.execution.spark.live.session_stage import PassTask, StageTask
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.processor import (
    OUTPUT_SCHEMA,
    EngineProcessor,
    Envelopes,
    StageStates,
    make_answers,
    read_envelopes,
)

ANSWER_SCHEMA = f"stage long, {OUTPUT_SCHEMA}"
LEAVES = -1  # the port of an envelope that ends a stage


class PassProcessor:
    """Events that only pass: one answer for each envelope."""

    def __init__(self, task: PassTask) -> None:
        self._schema = task.schema

    def take(self, envelopes: Envelopes) -> pd.DataFrame:
        _, sequences, payloads, _ = envelopes
        with TellPlainly():
            order = sorted(range(len(sequences)), key=sequences.__getitem__)
            tables = [read_payload(payload) for payload in (payloads[place] for place in order) if payload is not None]
        sizes = [len(table) for table in tables]
        return make_answers([write_table(table) for table in tables], {"events": sizes, "rows": sizes})


class SessionProcessor(StatefulProcessor):
    """tasks: by number of the stage.  ports: of the session, for each the port of its stage.  leaving: stages that
    end."""

    def __init__(self, tasks: Mapping[int, StageTask], ports: list[int], leaving: tuple[int, ...]) -> None:
        self._tasks, self._ports, self._leaving = dict(tasks), ports, leaving

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        segments = StageStates.of(handle)
        self._pieces = handle.getMapState("pieces", "number long", "blob binary")
        self._segments = segments
        in_pieces = StageStates(handle, segments.index, self._pieces, segments.late)
        self._stages: dict[int, EngineProcessor | ChainProcessor] = {}
        self._passing: dict[int, PassProcessor] = {}
        for number, task in self._tasks.items():
            if isinstance(task, PassTask):
                self._passing[number] = PassProcessor(task)
                continue
            is_chain = isinstance(task, ChainTask)
            stage = ChainProcessor(task) if isinstance(task, ChainTask) else EngineProcessor(task)
            stage.use(in_pieces if is_chain else segments, str(number))
            self._stages[number] = stage

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        label = int(key[0])
        number = self._stage_of[label]
        ports, sequences, payloads, newest = read_envelopes(rows)
        if number in self._leaving:
            yield self._leave(number)
            return
        envelopes = ([self._ports[port] for port in ports], sequences, payloads, newest)
        if number in self._passing:
            yield _tell(number, self._passing[number].take(envelopes))
        else:
            yield _tell(number, self._stages[number].take(label, envelopes, timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        label = int(key[0])
        number = self._stage_of[label]
        if number in self._leaving:
            yield self._leave(number)
        else:
            yield _tell(number, self._stages[number].wake(label, timerValues))

    def close(self) -> None:
        pass

    @cached_property
    def _stage_of(self) -> dict[int, int]:
        """By label.  Known in a task only, which is told how many shares there are."""
        shares = Packing(0, (), 1).count_shares()
        return {label: number for number in (*self._tasks, *self._leaving) for label in choose_labels(shares, number)}

    def _leave(self, number: int) -> pd.DataFrame:
        states = self._segments
        if states.index.exists():
            header, _ = read_blob(bytes(states.index.get()[0]))
            if header.get("timer") is not None:
                self._handle.deleteTimer(header["timer"])
            states.index.clear()
        for each in (states.blobs, self._pieces, states.late):
            each.clear()
        return _tell(number, make_answers([None], {}))


def _tell(number: int, answer: pd.DataFrame) -> pd.DataFrame:
    answer.insert(0, "stage", number)
    return answer
