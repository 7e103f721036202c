"""Other key groups, other state partitions: the state of a stopped stream is cut anew, and the stream goes on.

    read what there is ─▶ plan_move (pure: may it be done?) ─▶ state of each stage: read, recut, written
                                     └─▶ a new checkpoint beside the old one ─▶ the two change places in one step

Batches keep their numbers, and the query its id: sinks know by them what they have written.  So the new state takes the
place of the old one as that of the last batch, whose offsets say how many partitions there are; the next batch is the
one that would have come anyway.  Until the two change places, the old checkpoint is as it was, whatever happens.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.errors import InvalidInput, NotSupportedYet, SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.layout import (
    UNIQUE_IDS,
    Checkpoint,
    LogEntry,
    move_file,
    state_version,
    write_file,
)
from cepheid.execution.spark.envelopes import STATE_PARTITIONS
from cepheid.execution.spark.moved_state.exchange import exchange
from cepheid.execution.spark.moved_state.recut import Cut, recut_stage
from cepheid.execution.spark.query_start import FORMAT, RECORD_FILE, write_stages
from cepheid.execution.spark.stage_program import StageProgram, read_program
from cepheid.execution.spark.stage_record import StageRecord, read_stage
from cepheid.graph.node import EngineNode
from cepheid.placement.chain_keys import find_chain_keys
from cepheid.settings import check_key_groups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = ("transformWithStateInPandasExec", "transformWithStateInPySparkExec")
FINISH = "start the query with trigger(availableNow=True), wait until it ends, and try again"
STATE_SETTINGS = "spark.sql.streaming.stateStore."
SESSION = "session"  # instead of a digest, in the record of a session (live/live_session.py)
LARGEST = 4096  # state partitions: each is a task of every batch


@dataclass(frozen=True, slots=True)
class Found:
    """What a checkpoint says of itself.  begun, committed: the last batch in each log, None if there is none; offsets,
    commit: of the last committed one; operators: what each stateful operator is called."""

    begun: int | None
    committed: int | None
    offsets: LogEntry | None
    commit: LogEntry | None
    stages: tuple[StageRecord, ...]
    programs: tuple[Any, ...]
    operators: tuple[str, ...]
    state_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StageMove:
    record: StageRecord
    program: StageProgram
    before: Cut
    after: Cut


@dataclass(frozen=True, slots=True)
class MovePlan:
    """batch: the last one that is done, after which the state is taken; settings: with which it was written."""

    batch: int
    partitions: tuple[int, int]
    stages: tuple[StageMove, ...]
    settings: Mapping[str, str]
    state_bytes: int

    @property
    def groups(self) -> tuple[int, int]:
        """Before and after, of the stage that has most."""
        return max(move.before.groups for move in self.stages), max(move.after.groups for move in self.stages)

    def as_dict(self) -> dict[str, Any]:
        return {
            "batch": self.batch,
            "partitions": {"from": self.partitions[0], "to": self.partitions[1]},
            "key_groups": {"from": self.groups[0], "to": self.groups[1]},
            "stages": [move.record.described for move in self.stages],
            "state_bytes": self.state_bytes,
        }


def inspect_checkpoint(checkpoint: Checkpoint) -> Found:
    """Raises what `cepheid checkpoint check` explains, if something cannot be read."""
    hint = f"cepheid checkpoint check {checkpoint.root}"
    try:
        begun, committed = (max(checkpoint.list_batches(log), default=None) for log in ("offsets", "commits"))
        stages = checkpoint.read_stages()
        offsets, commit = (_read_last(checkpoint, log, committed) for log in ("offsets", "commits"))
        operators = tuple(_name_operator(checkpoint.operator(number)) for number in checkpoint.list_operators())
    except FileNotFoundError as problem:
        raise SnapshotMismatch(f'the checkpoint lacks "{problem.filename}"', hint=hint) from None
    except (ValueError, KeyError) as problem:
        raise SnapshotMismatch(f'a file of "{checkpoint.root}" is damaged: {problem}', hint=hint) from None
    if stages.get("format") != FORMAT:
        raise SnapshotMismatch("the checkpoint was written by another version of Cepheid", hint="use that version")
    records = tuple(read_stage(stage) for stage in stages["stages"])
    programs = tuple(stages.get("programs") or [None] * len(records))
    return Found(begun, committed, offsets, commit, records, programs, operators, checkpoint.count_state_bytes())


def _read_last(checkpoint: Checkpoint, log: str, batch: int | None) -> LogEntry | None:
    return None if batch is None else checkpoint.read_batch(log, batch)


def _name_operator(folder: Path) -> str:
    return str(_read_metadata(_list_metadata(folder)[-1])["operatorInfo"]["operatorName"])


def _list_metadata(folder: Path) -> list[Path]:
    """The files that describe a stateful operator, the last one last."""
    newer = folder / "_metadata" / "v2"
    if newer.is_dir():
        return sorted((each for each in newer.iterdir() if each.name.isdecimal()), key=lambda each: int(each.name))
    return [folder / "_metadata" / "metadata"]


def _read_metadata(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text().partition("\n")[2])
    return found


# --- the decision ----------------------------------------------------------------------------------------
def plan_move(found: Found, groups: int | None, partitions: int | None) -> MovePlan:
    """From what there is to what is asked for; raises if that cannot be done exactly."""
    offsets = _check_drained(found)
    _check_operators(found)
    settings: dict[str, str] = dict(offsets.header.get("conf", {}))
    told = [int(settings[name]) for name in STATE_PARTITIONS if name in settings]
    if not told:
        raise SnapshotMismatch(
            "the checkpoint does not say how many partitions it has", hint="was it begun by Spark 4?"
        )
    after = _check_partitions(partitions) if partitions is not None else told[0]
    if groups is not None:
        check_key_groups(groups, "--groups")
    moves = []
    for record, written in zip(found.stages, found.programs, strict=True):
        program = read_program(written, record.digest, record.described)
        chosen = groups if groups is not None and has_keys(program) else record.key_groups
        moves.append(StageMove(record, program, Cut(record.key_groups, told[0]), Cut(chosen, after)))
    most = max(move.after.groups for move in moves)
    if after > most:
        raise InvalidInput(
            f"{after} partitions for {most} key groups: some would have nothing to do",
            hint=f"--partitions {most}, or more --groups"
            if any(has_keys(m.program) for m in moves)
            else "--partitions 1",
        )
    if all(move.before == move.after for move in moves):
        raise InvalidInput(
            f"the checkpoint has {most} key groups and {after} partitions already",
            hint="--groups and --partitions say what it is to have",
        )
    return MovePlan(int(found.committed or 0), (told[0], after), tuple(moves), settings, found.state_bytes)


def has_keys(program: StageProgram) -> bool:
    """May its state be in more than one share?"""
    if program.kind == "chain":
        return bool(find_chain_keys(program.graph, program.vertex, program.schemas).columns)
    node = program.graph.vertices[program.vertex]
    return isinstance(node, EngineNode) and node.split > 0


def _check_drained(found: Found) -> LogEntry:
    if found.committed is None or found.offsets is None:
        raise InvalidInput("the stream has not finished a batch: there is no state to move", hint=FINISH)
    if found.begun != found.committed:
        raise InvalidInput(
            f"batch {found.begun} was begun and is not finished: a sink may have some of its rows",
            hint=FINISH,
        )
    if found.commit is not None and found.commit.header.get(UNIQUE_IDS):
        raise NotSupportedYet(
            "moving state that was written with spark.sql.streaming.stateStore.checkpointFormatVersion=2",
            hint="version 1 is Spark's default; it cannot be changed for a checkpoint, so start with a new one",
        )
    return found.offsets


def _check_operators(found: Found) -> None:
    if any(stage.digest == SESSION for stage in found.stages):
        raise NotSupportedYet("moving the state of a session", hint="queries started by writeStream can be moved")
    foreign = [name for name in found.operators if name not in OURS]
    if foreign or len(found.operators) != len(found.stages) or not found.stages:
        named = ", ".join(foreign) or f"{len(found.operators)} stateful operators for {len(found.stages)} of ours"
        raise NotSupportedYet(
            f"moving a query with stateful operators that are not Cepheid's ({named})",
            hint="let a query of its own do the window, join or dropDuplicates of Spark's, behind a sink",
        )


def _check_partitions(given: int) -> int:
    if not 1 <= given <= LARGEST:
        raise InvalidInput(f"--partitions is {given}", hint=f"from 1 to {LARGEST}; as many as there are cores is right")
    return given


# --- the effects -----------------------------------------------------------------------------------------
def repartition(
    spark: SparkSession,
    checkpoint: Checkpoint,
    plan: MovePlan,
    to: Path | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Path:
    """Do it; gives where the old checkpoint is now.  to: where the new one is to be, instead of in its place.  If it
    fails, the old one is where it was."""
    root = checkpoint.root
    if to is not None and to.exists():
        raise InvalidInput(f'"{to}" exists already', hint="--to names a folder that is to be made")
    if shutil.disk_usage(root).free < 2 * plan.state_bytes:
        raise InvalidInput(f'there is no room for a second state beside "{root}"', hint="make room, or give --to DIR")
    work = root.with_name(f".{root.name}.repartition")
    shutil.rmtree(work, ignore_errors=True)  # of a run that was killed: nothing in it counts
    fresh = Checkpoint(work / "checkpoint")
    try:
        _make_checkpoint(spark, checkpoint, fresh, plan, to, report)
        os.sync()
        if to is None:
            exchange(fresh.root, root)
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(fresh.root, to)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    if to is not None:
        shutil.rmtree(work)
        return root
    aside = _name_aside(root)
    fresh.root.rename(aside)  # what was exchanged is the old one now
    shutil.rmtree(work)
    return aside


def _make_checkpoint(
    spark: SparkSession,
    checkpoint: Checkpoint,
    fresh: Checkpoint,
    plan: MovePlan,
    to: Path | None,
    report: Callable[[str], None],
) -> None:
    root, before = checkpoint.root, _list_logs(checkpoint)
    shutil.copytree(root, fresh.root, ignore=lambda folder, _: ["state"] if Path(folder) == root else [])
    for number, move in zip(checkpoint.list_operators(), plan.stages, strict=True):
        report(f"moving {move.record.described}")
        _move_stage(spark, checkpoint, fresh, number, move, plan, to)
    _write_logs(fresh, plan)
    if _list_logs(checkpoint) != before:
        raise InvalidInput(f'"{root}" has changed meanwhile: the query runs', hint="stop it first")


def _list_logs(checkpoint: Checkpoint) -> list[list[int]]:
    return [checkpoint.list_batches(log) for log in ("offsets", "commits")]


def _name_aside(root: Path) -> Path:
    number = 1
    while (aside := root.with_name(f"{root.name}.before-repartition-{number}")).exists():
        number += 1
    return aside


def _move_stage(
    spark: SparkSession,
    checkpoint: Checkpoint,
    fresh: Checkpoint,
    number: int,
    move: StageMove,
    plan: MovePlan,
    to: Path | None,
) -> None:
    from cepheid.execution.spark.moved_state.stored_state import WRITTEN_VERSION, read_shares, write_shares

    kind = move.program.kind
    stored = read_shares(spark, checkpoint.root, number, plan.batch, kind)
    shares = recut_stage(move.program, stored, move.before, move.after)
    settings = {
        name: value for name, value in plan.settings.items() if name.startswith("spark.sql.streaming.stateStore")
    }
    scratch = fresh.root.parent / f"stage-{number}"
    written = write_shares(spark, shares, kind, move.after.shares, settings, scratch)
    folder = fresh.operator(number)
    for name in ("_metadata", "_stateSchema"):
        shutil.copytree(checkpoint.operator(number) / name, folder / name)
    for path in _list_metadata(folder):
        _tell_partitions(path, move.after.shares, to)
    for partition in range(move.after.shares):
        _place_partition(written / str(partition), folder / str(partition), WRITTEN_VERSION, plan.batch + 1)
    shutil.rmtree(scratch)


def _tell_partitions(path: Path, partitions: int, to: Path | None) -> None:
    """Of a file of metadata: so many, and where the schemas are, if the checkpoint is to lie elsewhere."""
    version, _, rest = path.read_text().partition("\n")
    told = json.loads(rest)
    for store in told["stateStoreInfo"]:
        store["numPartitions"] = partitions
        paths: Sequence[str] = store.get("stateSchemaFilePaths", ())
        if to is not None and paths:
            store["stateSchemaFilePaths"] = [f"file:{to}/state/{each.rpartition('/state/')[2]}" for each in paths]
    write_file(path, f"{version}\n{json.dumps(told, separators=(',', ':'))}".encode())


def _place_partition(source: Path, target: Path, version: int, wanted: int) -> None:
    """The files of a partition, the snapshot under another version."""
    source.rename(target)
    for path in list(target.iterdir()):
        if state_version(path.name) == version and wanted != version:
            move_file(path, path.with_name(path.name.replace(str(version), str(wanted), 1)))
    assert (target / f"{wanted}.zip").exists(), "Spark has written a snapshot"


def _write_logs(fresh: Checkpoint, plan: MovePlan) -> None:
    """What the last batch says of partitions, and the stages of key groups."""
    entry = fresh.read_batch("offsets", plan.batch)
    conf = {**entry.header["conf"]}
    conf.update({name: str(plan.partitions[1]) for name in STATE_PARTITIONS if name in conf})
    write_file(fresh.root / "offsets" / str(plan.batch), replace(entry, header={**entry.header, "conf": conf}).write())
    stored = fresh.read_stages()
    records = [replace(move.record, key_groups=move.after.groups) for move in plan.stages]
    write_file(fresh.root / RECORD_FILE, write_stages(records, stored["programs"], stored.get("path")).encode())
