"""A continuous query that several processes run, each for its share of the keys: `cep.open(..., engines=4)`.

    push ─▶ by key group ─┬▶ process 0 ─┬▶ rows
                          └▶ process 1 ─┘        how far time has come is told to all

It is used as any other, gives the same rows with each push, and goes on from its snapshots.  Rows of one key come in
their order; between keys there is none, as everywhere where keys are worked on side by side.

A process that dies is started again and goes on where it was (share_link.py).  All of them end with `finish`, with
`close`, and with this process, however it ends.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from cepheid.disorder.lateness_report import LatenessReport
from cepheid.disorder.lateness_watch import LatenessWatch, report_lateness
from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.event_time import BEGINNING, in_microseconds, newest_time, read_moment
from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.changelogs.changelog import Commit
from cepheid.execution.changelogs.kinds import find_changelog
from cepheid.execution.embedded.continuous import MANY_WAITING, ContinuousQuery, read_heartbeat, warn_of_waiting
from cepheid.execution.embedded.feed import Feed
from cepheid.execution.embedded.saved_state import OnChange, Restored
from cepheid.execution.embedded.stream_inputs import StreamInputs
from cepheid.execution.processes.worker import stop_all
from cepheid.execution.shares.by_beginnings import BEGINS, ByBeginnings
from cepheid.execution.shares.handing_out import plan_handing_out
from cepheid.execution.shares.ordered_by import find_times
from cepheid.execution.shares.put_together import merge_counts, merge_measurements, merge_rows
from cepheid.execution.shares.share_link import ShareLink
from cepheid.execution.shares.share_messages import QUESTIONS, Push, Question
from cepheid.execution.shares.share_process import make_setup
from cepheid.execution.shares.shared_snapshot import SharedSnapshot
from cepheid.lookups import Database, Table
from cepheid.measurement import CountedVertices, Counts
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import SystemClock
from cepheid.schema import has_changes
from cepheid.settings import Settings


class SharedQuery:
    """One query or several, and the processes that run them."""

    def __init__(
        self,
        placed: PlacedGraph,
        schemas: Mapping[str, pa.Schema],
        settings: Settings,
        snapshot: bytes | None,
        several: bool,
        lookups: Mapping[str, Table | Database],
        on_change: OnChange,
        engines: int,
    ) -> None:
        """As ContinuousQuery; engines: the number of processes."""
        self._several = several
        self._inputs = StreamInputs(schemas)
        self._tables = _check_supported(self._inputs.schemas, settings, lookups)
        self._contents = {name: table.data for name, table in self._tables.items()}
        self._times = find_times(placed.graph)
        self._handing_out = plan_handing_out(placed, self._inputs.schemas)
        if isinstance(self._handing_out, ByBeginnings) and settings.emit == "final" and settings.corrects:
            raise NotSupportedYet(
                'several engines for a pattern without a key, with emit="final" and events that are late in some only',
                hint='emit="changes", or wait for as long as bound',
            )
        placed, handed = self._handing_out.placed, self._handing_out.schemas
        inner = replace(settings, changelog="cepheid")
        saved = SharedSnapshot.begin(engines) if snapshot is None else SharedSnapshot.read(snapshot, engines)
        # It is never pushed: what it refuses is refused here, and it knows the columns of the rows.
        self._idle = ContinuousQuery(placed, handed, inner, saved.shares[0], True, lookups, on_change)
        self._changelog = find_changelog(settings.changelog) if settings.emit == "changes" else None
        self._lateness_us = _find_lateness(settings)
        self._newest, self._pushes = dict(saved.newest), saved.pushes
        if saved.handed is not None:
            self._handing_out.read_state(saved.handed)
        self._unseen = 0  # events since we last looked whether a stream holds up the others
        self._feeds: list[Feed] = []
        self._last_words: dict[Question, list[bytes]] = {}  # of processes that have ended
        self.links: list[ShareLink] = []
        self._end = weakref.finalize(self, _stop, self.links)  # whoever forgets to close leaves nothing behind
        rows = self._idle.schema
        for number, share in enumerate(saved.shares):
            setup = make_setup(placed, handed, inner, number, self._tables, on_change)
            self.links.append(ShareLink(number, setup, rows, share))

    # --- events in, rows out -----------------------------------------------------------------------------
    def push(self, **batches: Any) -> Any:
        """Take in events of one or more streams; give the rows that are settled now: a table, or, if several queries
        were opened together, one by the name of each."""
        self._check_open()
        tables = self._inputs.read(batches)
        rows = self._push(tables, {})
        if len(self._inputs.schemas) > 1:  # one stream alone waits for no other
            self._unseen += sum(map(len, tables.values()))
            if self._unseen >= MANY_WAITING:
                self._unseen = 0
                warn_of_waiting(self.counts)
        return rows

    def feed(self, stream: str) -> Feed:
        """A feed for single events of a stream, and for lists of them: tuples in, tuples out."""
        self._inputs.check([stream])
        self._feeds.append(Feed(stream, self._inputs.schemas[stream], None, self.push))
        return self._feeds[-1]

    def advance(self, to: datetime | int | None = None, stream: str | None = None) -> Any:
        """A heartbeat: no event older than this will come, on any stream or on the one that is named.  Gives the rows
        that this settles.  A number is in microseconds since 1970; a datetime without a zone is UTC."""
        self._check_open()
        return self._push({}, read_heartbeat(to, self._inputs.read_nothing(stream), ()))

    def finish(self) -> Any:
        """No more events will come: give all rows that are left."""
        self._check_open()
        for feed in self._feeds:
            feed.close()
        links = self._ready()
        for link in links:
            link.finish(self._newest)
        rest = self._hear_rows()
        self._last_words = {question: self._ask(question) for question in QUESTIONS if question != "snapshot"}
        self.close()
        return rest

    def close(self) -> None:
        """End all processes; may be called twice."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what is known -----------------------------------------------------------------------------------
    def snapshot(self) -> bytes:
        """All the query knows, as bytes; `cep.open(text, ..., engines=..., snapshot=blob)` goes on from there."""
        self._check_open()
        handed = self._handing_out.write_state()
        return SharedSnapshot(self._pushes, self._newest, handed, self._ask("snapshot")).write()

    def late_events(self) -> pa.Table:
        """Events that came after the horizon had passed them, with the columns that the query reads; they are taken out
        of the query, how many there were stays in `counts`."""
        told = self._ask("late")
        late = pa.concat_tables([read_table_bytes(each) for each in (told[:1] if self._handing_out.repeats else told)])
        late = late.select([name for name in late.column_names if name != BEGINS])
        if self._last_words:
            self._last_words["late"] = [write_table(late.slice(0, 0))]
        return late

    @property
    def counts(self) -> Counts:
        """What was counted by all engines and look-ups together."""
        return merge_counts([pickle.loads(each) for each in self._ask("counts")], self._handing_out.repeats)

    @property
    def lateness(self) -> LatenessReport | None:
        """How late events are, how long they wait, what corrections there are; None without `cep.Disorder`."""
        watches: list[LatenessWatch] = [watch for each in self._ask("watches") for watch in pickle.loads(each)]
        return report_lateness(watches) if watches else None

    @property
    def measurements(self) -> dict[str, CountedVertices]:
        """By the digest of each vertex that remembers: what was counted where it runs."""
        return merge_measurements([pickle.loads(each) for each in self._ask("measurements")], self._handing_out.repeats)

    @property
    def lookups(self) -> dict[str, dict[str, int]]:
        """No databases are asked."""
        return {}

    @property
    def restored(self) -> Restored:
        """What became of each query when a snapshot was opened."""
        return self._idle.restored

    @property
    def schema(self) -> Any:
        """The columns of the rows that come out; by name, if several queries were opened together."""
        shown = {name: self._show_schema(schema) for name, schema in self._idle.schema.items()}
        return shown if self._several else shown["query"]

    def explain_kept_rows(self) -> list[str]:
        return self._idle.explain_kept_rows()

    def explain_waiting_rows(self) -> list[str]:
        return self._idle.explain_waiting_rows()

    # --- inside ------------------------------------------------------------------------------------------
    def _push(self, tables: Mapping[str, pa.Table], heartbeats: Mapping[str, int]) -> Any:
        self._check_tables()
        ordered = {name: table.column(self._times[name]) for name, table in tables.items() if name in self._times}
        newest = {name: newest_time(column) for name, column in ordered.items() if len(column)}
        for name, time in newest.items():
            self._newest[name] = max(self._newest.get(name, BEGINNING), time)
        heard = dict(heartbeats)
        if self._lateness_us is not None:
            for name in newest:
                heard[name] = max(heard.get(name, BEGINNING), self._newest[name] - self._lateness_us)
        links = self._ready()
        handed = self._handing_out.schemas
        parted = {name: self._handing_out.part(name, tables[name], len(links)) for name in tables if name in handed}
        for number, link in enumerate(links):
            link.push(Push({name: parts[number] for name, parts in parted.items()}, newest, heard))
        return self._hear_rows()

    def _hear_rows(self) -> Any:
        with self._closing_on_failure():
            answers = [link.hear_rows() for link in self.links]
        self._pushes += 1
        rows = {name: self._show(merge_rows([answer.rows[name] for answer in answers])) for name in answers[0].rows}
        return rows if self._several else rows["query"]

    def _ask(self, question: Question) -> list[bytes]:
        if self._last_words:
            return self._last_words[question]
        self._check_open()
        for link in self._ready():
            link.ask(question)
        with self._closing_on_failure():
            return [link.hear_answer() for link in self.links]

    def _ready(self) -> list[ShareLink]:
        with self._closing_on_failure():
            for link in self.links:
                link.wait_until_ready()
        return self.links

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        """Where one has failed, the others know more than it does: there is no way on but from a snapshot."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _show(self, rows: pa.Table) -> pa.Table:
        """In the words that users asked for."""
        if self._changelog is None:
            return rows
        return self._changelog.write(rows, Commit(self._pushes, read_moment(SystemClock().now())))

    def _show_schema(self, schema: pa.Schema) -> pa.Schema:
        return schema if self._changelog is None else self._changelog.make_schema(schema)

    def _check_open(self) -> None:
        if self._last_words:
            raise InvalidInput("the query is finished", hint="open a new one")
        if not self._end.alive:
            raise InvalidInput("the query is closed", hint="open a new one; snapshot=... goes on from a snapshot")

    def _check_tables(self) -> None:
        for name, table in self._tables.items():
            if table.data is not self._contents[name]:
                raise NotSupportedYet(
                    f'a refresh of the table "{name}", joined by several engines,',
                    hint="open the query anew with the new table, from a snapshot",
                )


def _stop(links: list[ShareLink]) -> None:
    stop_all([link.worker for link in links])


def _check_supported(
    schemas: Mapping[str, pa.Schema], settings: Settings, lookups: Mapping[str, Table | Database]
) -> dict[str, Table]:
    """The tables that events are looked up in."""
    for name, schema in schemas.items():
        if has_changes(name, schema):
            raise NotSupportedYet(f'several engines for "{name}", whose rows come and go', hint="leave engines out")
    tables = {name: lookup for name, lookup in lookups.items() if isinstance(lookup, Table)}
    for name in lookups:
        if name not in tables:
            raise NotSupportedYet(
                f'several engines for a query that asks the database "{name}"', hint="leave engines out"
            )
    if settings.waiting is not None and settings.waiting.speculation is None:
        raise NotSupportedYet('speculation="adaptive" with several engines', hint="give a number: speculation=0")
    return tables


def _find_lateness(settings: Settings) -> int | None:
    """How far behind the newest event nothing changes any more; None: that is known where events are held back."""
    if settings.lateness is not None:
        return in_microseconds(settings.lateness)
    return None if settings.corrects or settings.emit == "changes" else 0
