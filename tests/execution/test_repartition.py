"""State that is cut anew for other key groups and partitions changes no row; what cannot be exact is refused."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import compile_query
from cepheid.errors import InvalidInput, NotSupportedYet, SnapshotMismatch
from cepheid.execution.blob import write_blob, write_table
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.engine import Engine
from cepheid.execution.engine_identity import identify_engine
from cepheid.execution.spark.checkpoint_files.layout import LogEntry
from cepheid.execution.spark.key_groups import choose_labels
from cepheid.execution.spark.moved_state.exchange import exchange
from cepheid.execution.spark.moved_state.recut import Cut, StoredShare, recut_stage
from cepheid.execution.spark.moved_state.repartition import OURS, Found, plan_move
from cepheid.execution.spark.stage_program import StageProgram, read_program, take_below, write_program
from cepheid.execution.spark.stage_record import StageRecord, read_stage
from cepheid.execution.state_segments import StoredState, load_state, plan_change
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.key_hash import group_keys
from cepheid.language.catalog import Catalog
from cepheid.testing.compare_rows import list_rows

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us")), ("x", pa.int64())])
TEXTS = {
    "sequence": """SELECT a.k, a.x AS ax, b.x AS bx FROM PATTERN SEQ(s a, s b) WHERE a.k = b.k AND b.x > 15
        WITHIN INTERVAL '40' SECOND STRATEGY skip_till_any""",
    "row pattern": """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES FIRST(a.x) AS x, MATCH_NUMBER() AS n PATTERN (a b+ c) WITHIN INTERVAL '90' SECOND
        DEFINE b AS b.x > PREV(b.x), c AS c.x < a.x)""",
    "absence": """SELECT a.k, a.x FROM PATTERN SEQ(s a, ~s b) WHERE a.k = b.k AND a.x > 9 AND b.x > 9
        WITHIN INTERVAL '15' SECOND""",
    "window": "SELECT k, sum(x) AS total FROM s [PARTITION BY k ORDER BY ts RANGE 1 MINUTE] GROUP BY k",
}
CUTS = [Cut(64, 2), Cut(64, 5), Cut(128, 3), Cut(7, 7), Cut(16, 1), Cut(64, 4)]
LATENESS_US = 7_000_000


def make_program(text: str) -> StageProgram:
    graph = compile_query(text, Catalog({"s": SCHEMA}, describe_sql)).placed.graph
    vertex = next(name for name, node in graph.vertices.items() if isinstance(node, EngineNode))
    (feed,) = set(graph.inputs(vertex))
    kinds = {"_time": pa.timestamp("us")}
    layout = pa.schema([(name, kinds.get(name, pa.int64())) for name, _ in graph.vertices[feed].columns])  # type: ignore[attr-defined]
    inputs = {str(number): layout for number in range(len(graph.inputs(vertex)))}
    program = StageProgram("engine", take_below(graph, vertex), vertex, inputs, (LATENESS_US,) * len(inputs), 1)
    return read_program(json.loads(write_program(program)), graph.digests[vertex], vertex)


class Shares:
    """Engines as the processors of Spark's partitions have them: read from the store and written back every batch."""

    def __init__(self, program: StageProgram, cut: Cut) -> None:
        self.program, self.cut = program, cut
        self.stored: dict[int, StoredShare] = {}
        self.rows: Counter[tuple[Any, ...]] = Counter()
        self._known: dict[int, StoredState] = {}
        digest = program.graph.digests[program.vertex]
        self.record = StageRecord(digest, program.vertex, cut.groups)

    def make_engine(self) -> Engine:
        node = self.program.graph.vertices[self.program.vertex]
        assert isinstance(node, EngineNode)
        identity = identify_engine(self.program.graph, [self.program.vertex])
        schemas = list(self.program.schemas.values())
        return Engine([node], schemas, identity=identity, delays_us=list(self.program.delays_us))

    def push(self, table: pa.Table, only_waiting: bool = False) -> None:
        """only_waiting: a batch without data, in which Spark calls those only that have a timer."""
        groups = group_keys([table.column("_key0")], len(table), self.cut.groups)
        newest = int(np.max(table.column("_time").cast(pa.int64()).to_numpy()))
        for number in np.unique(self.cut.table):
            label = choose_labels(self.cut.shares)[number]
            engine = self.make_engine()
            state = StoredState()
            share = self.stored.get(label)
            if share is not None:
                state, _ = load_state(engine, share.index, lambda each, _, share=share: share.blobs[each])  # type: ignore[misc]
            if only_waiting and not engine.is_waiting():
                continue
            own = table.slice(0, 0) if only_waiting else table.filter(pa.array(self.cut.table[groups] == number))
            if not only_waiting:
                engine.gate.see(0, [newest])
            (rows,) = engine.push([own], newest - LATENESS_US)
            self.rows.update(list_rows(rows))
            timer = None  # as where envelopes tell the time
            extra = {
                "version": "v",
                "timer": timer,
                "stage": replace(self.record, key_groups=self.cut.groups).as_dict(),
            }
            change, _ = plan_change(engine, state, extra)
            blobs = {**(share.blobs if share else {}), **change.puts}
            for segment in change.deletes:
                del blobs[segment.number]
            self.stored[label] = StoredShare(change.index, blobs, share.late if share else {}, timer)

    def move(self, after: Cut) -> None:
        self.stored = recut_stage(self.program, self.stored, self.cut, after)
        self.cut = after


def make_batch(program: StageProgram, begin_s: int, count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    layout = program.schemas["0"]
    values = {name: random.integers(1, 20, count) for name in layout.names}
    keys = random.integers(0, 30, count)
    values |= {name: keys for name in layout.names if name in ("k", "_key0", "_group0")}
    values["_time"] = (begin_s + np.arange(count) + random.integers(-3, 4, count)) * 1_000_000
    return pa.table({name: pa.array(values[name]).cast(layout.field(name).type) for name in layout.names})


@pytest.mark.parametrize("kind", TEXTS)
def test_state_that_is_cut_anew_in_mid_stream_changes_no_row(kind: str) -> None:
    program = make_program(TEXTS[kind])
    moved, steady = Shares(program, CUTS[0]), Shares(program, Cut(1, 1))
    for turn, cut in enumerate([*CUTS[1:], CUTS[0]]):
        for part in range(2):
            table = make_batch(program, 10 + turn * 120 + part * 60, 60, seed=turn * 2 + part)
            moved.push(table)
            steady.push(table)
        moved.push(table, only_waiting=True)
        steady.push(table, only_waiting=True)
        moved.move(cut)
        assert set(moved.stored) <= set(choose_labels(cut.shares))
    table = make_batch(program, 100_000, 60, seed=99)
    moved.push(table)
    steady.push(table)
    assert moved.rows == steady.rows
    assert steady.rows.total() > 20


def test_each_share_says_how_many_groups_there_are_and_late_events_stay() -> None:
    program = make_program(TEXTS["window"])
    shares = Shares(program, Cut(64, 2))
    shares.push(make_batch(program, 0, 80, seed=1))
    late = pa.table({"k": [1, 2]})
    shares.stored = {label: replace(share, late={3: write_table(late)}) for label, share in shares.stored.items()}
    shares.move(Cut(32, 1))
    ((_, share),) = shares.stored.items()
    engine = shares.make_engine()
    _, header = load_state(engine, share.index, lambda number, _: share.blobs[number])
    assert read_stage(header["stage"]).key_groups == 32
    assert [len(pa.ipc.open_stream(blob).read_all()) for blob in share.late.values()] == [4]


def test_whoever_waits_for_the_watermark_of_spark_is_called_no_later_than_before() -> None:
    program = make_program(TEXTS["absence"])
    shares = Shares(program, Cut(64, 2))
    shares.push(make_batch(program, 0, 80, seed=1))
    times = iter((7, 5))
    shares.stored = {label: replace(share, timer=next(times)) for label, share in shares.stored.items()}
    shares.move(Cut(64, 4))
    assert {share.timer for share in shares.stored.values()} == {5}


def test_what_is_not_of_these_partitions_is_refused() -> None:
    program = make_program(TEXTS["window"])
    stored = {1: StoredShare(write_blob({}, []), {})}
    with pytest.raises(SnapshotMismatch, match="shares that 2 partitions do not have"):
        recut_stage(program, stored, Cut(64, 2), Cut(64, 4))


def test_what_has_no_form_in_json_runs_and_cannot_be_moved() -> None:
    program = make_program(TEXTS["window"])
    strange = QueryGraph({"s": Source(name=pa.int64())}, ())  # type: ignore[arg-type]
    assert write_program(replace(program, graph=strange, vertex="s")) == ""


# --- the decision ----------------------------------------------------------------------------------------
def make_found(**changes: Any) -> Found:
    program = make_program(TEXTS["sequence"])
    digest = program.graph.digests[program.vertex]
    offsets = LogEntry("v1", {"conf": {"spark.sql.shuffle.partitions": "2"}}, ('{"logOffset":4}',))
    commit = LogEntry("v1", {"nextBatchWatermarkMs": 0})
    record = StageRecord(digest, "sequence_1: SEQ", 64)
    programs = (json.loads(write_program(program)),)
    return replace(Found(4, 4, offsets, commit, (record,), programs, OURS[:1], 1000), **changes)


def test_the_plan_says_from_where_to_where() -> None:
    plan = plan_move(make_found(), 128, 16)
    assert (plan.batch, plan.partitions, plan.groups, plan.state_bytes) == (4, (2, 16), (64, 128), 1000)
    assert [(move.before, move.after) for move in plan.stages] == [(Cut(64, 2), Cut(128, 16))]
    assert plan_move(make_found(), None, 4).groups == (64, 64)
    assert plan_move(make_found(), 32, None).partitions == (2, 2)


@pytest.mark.parametrize(
    ("changes", "groups", "partitions", "told"),
    [
        ({}, 64, 2, "already"),
        ({}, None, 65, "65 partitions for 64 key groups"),
        ({}, None, 0, "--partitions is 0"),
        ({}, 0, None, "--groups"),
        ({"begun": 5}, None, 4, "batch 5 was begun and is not finished"),
        ({"begun": None, "committed": None, "offsets": None}, None, 4, "not finished a batch"),
        ({"programs": (None,)}, None, 4, "does not say what computes"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    changes: dict[str, Any], groups: int | None, partitions: int | None, told: str
) -> None:
    with pytest.raises((InvalidInput, SnapshotMismatch), match=told) as caught:
        plan_move(make_found(**changes), groups, partitions)
    assert caught.value.hint


def test_what_cannot_be_moved_exactly_is_refused() -> None:
    with pytest.raises(NotSupportedYet, match="dedupe"):
        plan_move(make_found(operators=(*OURS[:1], "dedupe")), None, 4)
    with pytest.raises(NotSupportedYet, match="checkpointFormatVersion"):
        plan_move(make_found(commit=LogEntry("v2", {"stateUniqueIds": {"0": [["a"]]}})), None, 4)
    other = make_found()
    with pytest.raises(NotSupportedYet, match="a session"):
        plan_move(replace(other, stages=(replace(other.stages[0], digest="session"),)), None, 4)
    with pytest.raises(SnapshotMismatch, match="another version"):
        plan_move(replace(other, stages=(replace(other.stages[0], digest="00"),)), None, 4)


def test_two_folders_change_places(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    exchange(tmp_path / "old", tmp_path / "new")
    assert (tmp_path / "old" / "new").exists()
    assert (tmp_path / "new" / "old").exists()
    with pytest.raises(NotSupportedYet, match="one step"):
        exchange(tmp_path / "old", tmp_path / "missing")
