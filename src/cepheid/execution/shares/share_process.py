"""The process that has a share of a query: an ordinary continuous query, over the events of its keys.

    message ─▶ ContinuousQuery.push_heard ─▶ rows

Processes do not know of each other.  What they must agree on, how far time has come, is in each message.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import cloudpickle
import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.blob import write_table
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.execution.embedded.saved_state import OnChange
from cepheid.execution.shares.share_messages import FINISH, TELL, Answer, read_push, write_answer
from cepheid.execution.user_functions import list_functions, register_functions
from cepheid.lookups import Table
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.settings import Settings
from cepheid.user_functions import Function


@dataclass(frozen=True)
class ShareTask:
    """What a process is told.  schemas: of the streams, as they are handed out; functions: of the user, that the query
    calls; number: of the share; snapshot: of it, to go on from."""

    placed: PlacedGraph
    schemas: Mapping[str, pa.Schema]
    settings: Settings
    number: int
    lookups: Mapping[str, Table] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    on_change: OnChange = "refuse"
    snapshot: bytes | None = None


class Share:
    """Answers messages (processes/worker_main.py)."""

    def __init__(self, task: ShareTask) -> None:
        register_functions(task.functions)
        self._schemas = task.schemas
        self._query = ContinuousQuery(
            *(task.placed, task.schemas, task.settings, task.snapshot),
            several=True,
            lookups=task.lookups,
            on_change=task.on_change,
            origin=f"@{task.number}",
        )

    def __call__(self, kind: int, body: bytes) -> Sequence[bytes]:
        if kind == TELL:
            return [self._tell(body.decode())]
        push, asks_snapshot = read_push(body, self._schemas)
        rows = self._query.push_heard(push.tables, push.heard, push.newest)
        if kind == FINISH:
            rest = self._query.finish()
            rows = {name: pa.concat_tables([table, rest[name]]) for name, table in rows.items()}
        return [write_answer(Answer(rows, self._query.snapshot() if asks_snapshot else None))]

    def _tell(self, question: str) -> bytes:
        query = self._query
        match question:
            case "counts":
                return cloudpickle.dumps(query.counts)
            case "late":
                return write_table(query.late_events())
            case "watches":
                return cloudpickle.dumps(query.list_watches())
            case "measurements":
                return cloudpickle.dumps(query.measurements)
            case "snapshot":
                return query.snapshot()
        raise AssertionError(f"nobody asks for {question}")


def make_setup(
    placed: PlacedGraph,
    schemas: Mapping[str, pa.Schema],
    settings: Settings,
    number: int,
    lookups: Mapping[str, Table],
    on_change: OnChange,
) -> Callable[[bytes | None], bytes]:
    """What the process of a share is told, given the snapshot that it goes on from."""
    functions = list_functions(repr(list(placed.graph.vertices.values())))
    task = ShareTask(placed, schemas, settings, number, lookups, functions, on_change)

    def write(snapshot: bytes | None) -> bytes:
        try:
            return cloudpickle.dumps(replace(task, snapshot=snapshot))
        except (pickle.PicklingError, TypeError, AttributeError) as problem:
            raise InvalidInput(
                f"a function of yours cannot be sent to another process: {problem}",
                hint="it must not hold files, locks or connections; or leave engines out",
            ) from problem

    return write


def open_share(setup: bytes) -> Share:
    """setup: a `ShareTask` as cloudpickle writes it, since users give functions of their own."""
    return Share(cloudpickle.loads(setup))
