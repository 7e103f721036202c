"""Back to the last batch of a damaged checkpoint that is whole.

    Diagnosis ─▶ plan_rewind (pure: back to where, and is it exact?) ─▶ rewind: newer files go to cepheid/rewound-1/

The batch behind is read again from the same offsets if those are whole: then sinks that know its number (Delta,
PostgreSQL) write nothing twice and miss nothing.  Any batch further behind would be cut anew, maybe with more events: a
sink that knows its number would leave those out.  That is done only when it is said to be right.  Spark's file sink is
made to forget the batches behind (file_sink.py): whatever they hold then, it writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.errors import InvalidInput, SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.damage import Damage, Diagnosis, check_file, diagnose
from cepheid.execution.spark.checkpoint_files.file_sink import FileSinkLog
from cepheid.execution.spark.checkpoint_files.layout import Checkpoint, move_file, sidecar, state_version

FROM_NOTHING = "restore it from a backup, or start with a new checkpointLocation: it reads everything again"


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """to: the batch that the stream goes on behind, -1 for the beginning.  last: the last one that was begun.  replays:
    batch to + 1 is read again just as it was.  forgets: the sink will know none of the batches behind."""

    to: int
    last: int
    replays: bool
    forgets: bool = False

    @property
    def is_exact(self) -> bool:
        """Are all batches behind it, if any, read again as they were, or written anew?"""
        return self.last <= self.to or self.forgets or (self.replays and self.last == self.to + 1)

    def as_dict(self) -> dict[str, Any]:
        return {"to_batch": self.to, "last_batch": self.last, "is_exact": self.is_exact}


def plan_rewind(found: Diagnosis, to: int | None, cut_anew: bool, forgets: bool = False) -> RewindPlan:
    """to: None for the newest batch that is whole.  cut_anew: the user has made the sinks ready for that.  forgets: the
    sink is Spark's, for files."""
    lost = any(damage.path.name == "metadata" for damage in found.damaged)
    if found.whole is None or lost:
        what = "the id of the query is lost, by which sinks know it" if lost else "no batch of it is whole"
        raise SnapshotMismatch(f"the checkpoint cannot be taken back: {what}", hint=FROM_NOTHING)
    last = max(found.begun if found.begun is not None else -1, found.committed if found.committed is not None else -1)
    if to is not None and to > found.whole:
        raise InvalidInput(f"batch {to} is not whole", hint=f"--to-batch {found.whole}")
    target = found.whole if to is None else to
    plan = RewindPlan(target, last, found.replays if target == found.whole else target < last, forgets)
    if found.is_whole and to is None:
        raise InvalidInput("the checkpoint is whole: there is nothing to take back", hint="start the query")
    if not plan.is_exact and not cut_anew:
        again = f"batch {target + 1}" if last == target + 1 else f"batches {target + 1} to {last}"
        raise InvalidInput(
            f"{again} would be cut anew: a sink that knows these numbers (Delta, PostgreSQL) would leave their "
            "rows out, others would get some twice",
            hint="delete the rows of these batches from the sink, and the numbers that it knows; then add --cut-anew",
        )
    return plan


def rewind(
    checkpoint: Checkpoint, plan: RewindPlan, damaged: tuple[Damage, ...], sink: FileSinkLog | None = None
) -> Path:
    """Gives where the files are now that were taken out.  What was damaged goes last: killed on the way, it can be
    repeated.  sink: where Spark's file sink writes to, if it does."""
    root = checkpoint.root
    aside = _name_aside(root)
    if sink is not None:
        sink.check_forgetting(plan.to)
        sink.forget(plan.to, aside)
    for batch in reversed(checkpoint.list_batches("commits")):
        if batch > plan.to:
            _set_aside(root, root / "commits" / str(batch), aside)
    for operator in checkpoint.list_operators():
        for partition in checkpoint.list_partitions(operator):
            _clean_partition(root, checkpoint.operator(operator) / str(partition), plan.to + 1, aside)
    last_kept = plan.to + 1 if plan.replays else plan.to
    for batch in reversed(checkpoint.list_batches("offsets")):
        if batch > last_kept:
            _set_aside(root, root / "offsets" / str(batch), aside)
    for damage in damaged:
        if damage.path.name == "stages.json" and damage.path.exists():
            _set_aside(root, damage.path, aside)
    after = diagnose(checkpoint)
    assert after.is_whole, f"what is left is whole: {after.damaged}"
    return aside


def _clean_partition(root: Path, folder: Path, version: int, aside: Path) -> None:
    """Take out what is newer, and snapshots that are damaged: Spark would take the newest there is."""
    for path in sorted(folder.iterdir()):
        found = None if path.name.startswith(".") else state_version(path.name)
        if found is not None and (found > version or check_file(path)):
            _set_aside(root, path, aside)


def _set_aside(root: Path, path: Path, aside: Path) -> None:
    target = aside / path.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    if sidecar(path).exists() or path.exists():
        move_file(path, target)


def _name_aside(root: Path) -> Path:
    number = 1
    while (aside := root / "cepheid" / f"rewound-{number}").exists():
        number += 1
    return aside
