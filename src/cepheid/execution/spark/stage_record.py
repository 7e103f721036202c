"""What a checkpoint says of the stages of ours in it, and whether a query may go on from there.

    stages of the query ─▶ StageRecord ─┬─▶ the plan ─▶ a file in the checkpoint   (query_start.py)
                                        └─▶ the state of the stage itself          (processor.py)

State is found by key group.  With another number of groups, or another query, Spark would look for it where it is not,
find nothing, and go on: rows would be missing without a word.  In another zone, or under other rules of the session
that the query depends on (session_meaning.py), rows would be others without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cepheid.errors import SnapshotMismatch

DIALECT = "dialect"  # beside Spark's own names of settings: whose SQL the query is written in
NEW_PLACE = "or start with a new checkpointLocation, which begins without state"


@dataclass(frozen=True, slots=True)
class StageRecord:
    """A stateful vertex: its digest and, for people, its description; into how many groups its keys are hashed; the
    settings of the session that its query depends on, None in checkpoints from before they were written down."""

    digest: str
    described: str
    key_groups: int
    session: Mapping[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def read_stage(stored: Mapping[str, Any]) -> StageRecord:
    return StageRecord(
        str(stored["digest"]), str(stored["described"]), int(stored["key_groups"]), stored.get("session")
    )


def check_stages(stored: Sequence[StageRecord], asked: Sequence[StageRecord], place: str) -> None:
    """Raises if the query, whose stages are `asked`, cannot go on from what was stored; place: the checkpoint."""
    if len(stored) == len(asked):  # the session first: literals that were read in another zone make another query, too
        for before, now in zip(stored, asked, strict=True):
            _check_session(before.session, now.session, place)
    if [stage.digest for stage in stored] != [stage.digest for stage in asked]:
        raise _explain_other_query(stored, asked, place)
    for before, now in zip(stored, asked, strict=True):
        if before.key_groups != now.key_groups:
            raise SnapshotMismatch(
                f"{place} was written with {before.key_groups} key groups, and this query has {now.key_groups}: "
                "its state would not be found",
                hint=f"give key_groups={before.key_groups} to cep.sql (or set CEPHEID_KEY_GROUPS={before.key_groups}), "
                f"change the checkpoint with cepheid repartition CHECKPOINT --groups {now.key_groups}, {NEW_PLACE}",
            )


def _check_session(before: Mapping[str, str] | None, now: Mapping[str, str] | None, place: str) -> None:
    """Raises if a setting has changed that the rows depend on; an empty record depends on none."""
    if not before or not now:
        return
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if not changed:
        return
    said = ", ".join(f"{name} was {before.get(name, 'not set')} and is {now.get(name, 'not set')}" for name in changed)
    repair = ", ".join(_write_setting(name, before.get(name)) for name in changed)
    raise SnapshotMismatch(
        f"{place} belongs to this query under other rules, by which its rows would be others: {said}",
        hint=f"{repair}, {NEW_PLACE}",
    )


def _write_setting(name: str, value: str | None) -> str:
    """What a user does to have it as it was, before cep.sql is called."""
    if name == DIALECT:
        return f'give dialect="{value}" to cep.sql'
    if value is None:
        return f'call spark.conf.unset("{name}") before cep.sql'
    return f'call spark.conf.set("{name}", "{value}") before cep.sql'


def _explain_other_query(stored: Sequence[StageRecord], asked: Sequence[StageRecord], place: str) -> SnapshotMismatch:
    held, wanted = _list(stored), _list(asked)
    if sorted(stage.digest for stage in stored) == sorted(stage.digest for stage in asked):
        return SnapshotMismatch(
            f"{place} belongs to the same patterns and windows in another order: it has {held}, the query {wanted}",
            hint=f"put them in the old order, {NEW_PLACE}",
        )
    if held == wanted:
        held, wanted = f"{held} as it was", "one that reads or computes something else under the same description"
    return SnapshotMismatch(
        f"{place} belongs to another query: it holds the state of {held}, and the query has {wanted}",
        hint=f"run it with the old text, {NEW_PLACE}",
    )


def _list(stages: Sequence[StageRecord]) -> str:
    return "; ".join(stage.described for stage in stages) or "no pattern and no window"
