"""Late events put right where they are give the rows, ids and versions that going back to the base gives, push by push;
and what is left in the end is the batch answer.

Where matches hang together, or rows are about neighbours, versions grow with each late event, and not only with those
that take something back: they are not those of going back.  They grow all the same (netted_changes.py).
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pyarrow as pa
import pytest
from case_counts import few
from netted_changes import Netted
from random_changes import make_changes, make_habits
from random_events import make_events
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from random_windows import make_window_case
from ways_to_run import report_smallest

import cepheid as cep
from cepheid.errors import MatchFailure, PatternTooCostly, RejectedEventsWarning, UnboundedStateWarning
from cepheid.execution.changing import changing_engine
from cepheid.execution.changing.chained_correction import ChainedCorrection
from cepheid.execution.changing.local_correction import Correction, LocalCorrection
from cepheid.testing import cut_table, list_rows

TEXTS = (
    (
        "SELECT a.ts AS t, a.i AS i, b.w AS w FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.k = b.k AND a.i < b.i "
        "WITHIN INTERVAL '4' SECOND"
    ),
    (
        "SELECT a.ts AS t, b.i AS i FROM PATTERN SEQ(s a, ~t c, s b) ORDER BY ts WHERE a.k = b.k AND a.k = c.k "
        "AND a.i > 0 WITHIN INTERVAL '3' SECOND"
    ),
    (
        "SELECT a.i AS i, b.w AS w FROM PATTERN SEQ(s a, t b, ~s c) ORDER BY ts WHERE a.k = b.k AND a.k = c.k "
        "WITHIN INTERVAL '3' SECOND"
    ),
    "SELECT a.i AS i FROM PATTERN SEQ(~t c, s a) ORDER BY ts WHERE a.k = c.k WITHIN INTERVAL '2' SECOND",
    (
        "SELECT a.i AS i, count(b.i) AS n, c.w AS w FROM PATTERN SEQ(s a, s+ b[], s c) ORDER BY ts WHERE a.k = b[1].k "
        "AND a.k = c.k AND b[i].i >= a.i WITHIN INTERVAL '4' SECOND"
    ),
    (
        "SELECT a.i AS i, b.i AS j, c.i AS l FROM PATTERN SEQ(s a, s b, s c) ORDER BY ts WHERE a.i > 0 AND c.i > b.i "
        "WITHIN INTERVAL '3' SECOND STRATEGY skip_till_any"
    ),
    (
        "SELECT a.i AS i, b.i AS j FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.k = b.k AND a.i < b.i "
        "WITHIN INTERVAL '3' SECOND STRATEGY partition_contiguity"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.i AS i, LAST(b.i) AS j, "
        "count(b.i) AS n PATTERN (a b+) WITHIN INTERVAL '4' SECOND DEFINE b AS b.i >= PREV(b.i))"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.i AS x, c.i AS y, classifier() AS z "
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a b* c) WITHIN INTERVAL '2' SECOND DEFINE b AS b.i < a.i, "
        "c AS c.i > PREV(c.i))"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.i AS i, LAST(b.w) AS w, sum(c.i) AS n "
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (a (b | c){1,3} NOT d) WITHIN INTERVAL '3' SECOND "
        "DEFINE a AS a.i > 0, b AS b.i < a.i, c AS c.i > a.i, d AS d.i = 0)"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.i AS i, b.i AS j "
        "PATTERN (a b) WITHIN INTERVAL '1' SECOND)"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.i AS i, LAST(b.i) AS j PATTERN (a b{1,2}) "
        "WITHIN INTERVAL '2' SECOND DEFINE b AS b.i > PREV(b.i) AND b.k = a.k)"
    ),
    (
        "SELECT a.i AS i, b.w AS w FROM PATTERN SEQ(s a NEXT s b) ORDER BY ts WHERE a.k = b.k AND a.i > 0 "
        "WITHIN INTERVAL '4' SECOND"
    ),
    (
        "SELECT a.i AS i, count(b[]) AS n, c.w AS w FROM PATTERN SEQ(s a FOLLOWED BY s{1,3} b[] FOLLOWED BY ANY t c) "
        "ORDER BY ts WHERE a.k = b[i].k AND a.k = c.k AND b[i].i > a.i WITHIN INTERVAL '5' SECOND"
    ),
    (
        "SELECT a.i AS i, c.w AS w FROM PATTERN SEQ(s a NOT NEXT s x FOLLOWED BY s? b FOLLOWED BY s c) ORDER BY ts "
        "WHERE a.k = x.k AND a.k = b.k AND a.k = c.k AND x.i = 0 AND b.i > 3 AND c.i > a.i WITHIN INTERVAL '3' SECOND"
    ),
    (
        "SELECT a.i AS i, b.i AS j FROM PATTERN SEQ(s a FOLLOWED BY ANY s b) ORDER BY ts WHERE a.i < b.i AND b.k = a.k "
        "WITHIN INTERVAL '2' SECOND"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k, s ORDER BY ts MEASURES a.i AS x, c.i AS y, "
        "MATCH_NUMBER() AS z ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (a b* c) "
        "DEFINE a AS a.i > 0, b AS b.i < a.i, c AS c.i > PREV(c.i, 2))"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.ts AS t, b.i AS i, TIMED_OUT() AS o "
        "PATTERN (a b NOT c) WITHIN INTERVAL '3' SECOND TIMEOUT ROWS DEFINE b AS b.i > a.i, c AS c.i < 0)"
    ),
    "SELECT k, count(*) AS n, sum(i) AS a, last(w) AS l FROM s [ORDER BY ts RANGE 3 S SLIDE 3 S] GROUP BY k",
    "SELECT k, s, max(i) AS a FROM s [ORDER BY ts RANGE 6 SECONDS SLIDE 2 SECONDS] WHERE flag GROUP BY k, s",
    "SELECT f, count(*) AS n FROM s [ORDER BY ts RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY f",
    "SELECT k, array_agg(i) AS a FROM s [ORDER BY ts RANGE 4 SECONDS] WHERE i > 0 GROUP BY k",
    "SELECT s, count(*) AS n FROM s [PARTITION BY k ORDER BY ts RANGE 4 SECONDS] GROUP BY s",
    "SELECT k, count(*) AS n FROM s [ORDER BY ts RANGE 4 S SLIDE 4 S] GROUP BY k ORDER BY n DESC, k LIMIT 1",
    "SELECT i, w FROM s [ORDER BY ts RANGE 2 SECONDS SLIDE 2 SECONDS]",
    "SELECT k, count(*) AS n, sum(i) AS a, min(w) AS w FROM s [PARTITION BY k ORDER BY ts ROWS 3] GROUP BY k",
    "SELECT s, count(*) AS n FROM s [ORDER BY ts ROWS 5] WHERE i > 0 GROUP BY s",
    "SELECT k, w, max(i) AS a FROM s [PARTITION BY k ORDER BY ts ROWS 40] GROUP BY k, w",
    "SELECT k, max(i) AS a, window_start AS at FROM s [PARTITION BY k ORDER BY ts SESSION 1 SECOND] GROUP BY k",
    "SELECT count(*) AS n, sum(i) AS a, window_end AS at FROM s [ORDER BY ts SESSION 500 MILLISECONDS]",
    "SELECT s, count(*) AS n FROM s [PARTITION BY k ORDER BY ts SESSION 2 SECONDS] WHERE flag GROUP BY s",
    "SELECT i, lag(w) OVER (PARTITION BY k ORDER BY ts) AS p, lag(i, 3) OVER (PARTITION BY k ORDER BY ts) AS q FROM s",
    "SELECT i, lead(i, 2) OVER (PARTITION BY k ORDER BY ts) AS p, lag(i) OVER (PARTITION BY k ORDER BY ts) AS q FROM s",
    (
        "SELECT i, first_value(w) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS p, "
        "sum(i) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS q FROM s"
    ),
    "SELECT i, lag(i) OVER (ORDER BY ts) AS p FROM s",
    (
        "SELECT i, last_value(i) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts "
        "ROWS BETWEEN 4 PRECEDING AND 1 PRECEDING) AS p FROM s"
    ),
    (
        "SELECT x.i AS i, y.i AS j FROM s [ORDER BY ts RANGE 3 SECONDS] AS x, t [ORDER BY ts RANGE 2 SECONDS] AS y "
        "WHERE x.k = y.k"
    ),
    (
        "SELECT x.i AS i, y.i AS j FROM s [ORDER BY ts RANGE 3 S] AS x LEFT JOIN t [ORDER BY ts RANGE 2 S] AS y "
        "ON x.k = y.k AND x.i < y.i"
    ),
    (
        "SELECT x.i AS i, y.i AS j FROM s [ORDER BY ts RANGE 1 SECOND] AS x, t [ORDER BY ts RANGE 2 SECONDS] AS y "
        "WHERE x.i < y.i"
    ),
    (
        "SELECT x.i AS i, y.i AS j FROM s AS x JOIN t AS y ON x.k = y.k AND y.ts BETWEEN x.ts - INTERVAL '2' SECOND "
        "AND x.ts + INTERVAL '1' SECOND"
    ),
)
OWN, WINDOWS, SEQUENCES, PATTERNS = 6 * len(TEXTS), 60, 40, 60


@dataclass(frozen=True)
class Case:
    text: str
    tables: Mapping[str, pa.Table]

    def __repr__(self) -> str:
        return f"{self.text}\n{ {name: table.to_pylist() for name, table in self.tables.items()} }"


def list_cases() -> Iterator[tuple[int, Case]]:
    for seed in range(few(OWN, of=20 * OWN)):
        text = TEXTS[seed % len(TEXTS)]
        count = Random(seed).choice((30, 60, 120))
        tables = {name: make_events(seed + shift, count, keys=3, gaps=(0, 1)) for name, shift in (("s", 0), ("t", 999))}
        yield (
            seed,
            Case(
                text, {name: tables[name] for name in tables if re.search(rf"(FROM|,|~|JOIN|ANY|\() ?{name}\b", text)}
            ),
        )
    for seed in range(few(WINDOWS, of=20 * WINDOWS)):
        window = make_window_case(seed)
        yield seed, Case(window.text, window.tables)
    for seed in range(few(SEQUENCES, of=20 * SEQUENCES)):
        sequence = make_sequence_case(seed)
        yield seed, Case(sequence.text, sequence.tables)
    for seed in range(few(PATTERNS, of=20 * PATTERNS)):
        pattern = make_row_pattern_case(seed)
        yield seed, Case(pattern.text, {"t": pattern.events.slice(0, 60)})


def delay_events(table: pa.Table, random: Random) -> pa.Table:
    """Some events come later than others that are younger."""
    share, most = random.choice((0.1, 0.3, 0.6)), random.choice((3, 12, 40))
    turns = [place + (random.uniform(0, most) if random.random() < share else 0) for place in range(len(table))]
    return table.take(pa.array(sorted(range(len(table)), key=turns.__getitem__), pa.int64()))


class BothWays:
    """A query whose engines go back, and one whose engines do not."""

    def __init__(self, text: str, schemas: Mapping[str, Any], disorder: cep.Disorder, changing: bool) -> None:
        """changing: do events come and go?"""
        self._text, self._schemas, self._disorder, self._changing = text, schemas, disorder, changing
        self.local, self.back = self._open(None, False), self._open(None, True)
        self.netted = Netted()

    def _open(self, snapshot: bytes | None, goes_back: bool) -> Any:
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("ignore", UnboundedStateWarning)
            if goes_back:
                patch.setattr(changing_engine, "find_reach", lambda *_: None)
            return cep.open(self._text, snapshot=snapshot, disorder=self._disorder, **self._schemas)

    def push(self, batch: Mapping[str, pa.Table]) -> None:
        self._compare(self.local.push(**batch), self.back.push(**batch))
        assert self.local.counts.late == self.back.counts.late
        assert self.local.counts.rows == self.back.counts.rows

    def restart(self) -> None:
        self.local, self.back = self._open(self.local.snapshot(), False), self._open(self.back.snapshot(), True)

    def finish(self) -> None:
        self._compare(self.local.finish(), self.back.finish())

    def _compare(self, told: pa.Table, back: pa.Table) -> None:
        local = told
        if self._disorder.emit == "changes" and re.search("MATCH_RECOGNIZE|ROWS|SESSION|OVER", self._text):
            local, back = (table.drop_columns(["_version"]) for table in (told, back))
        found, expected = Counter(list_rows(local)), Counter(list_rows(back))
        assert found == expected, f"too many: {found - expected}, missing: {expected - found}"
        took_all_back = not (self._changing and self.local.counts.late)  # else names are there twice (changes.md)
        if self._disorder.emit == "changes" and took_all_back:
            self.netted.take(told)


def check_case(case: Case, seed: int, seen: Counter[str]) -> None:
    random = Random(seed)
    emit = random.choice(("changes", "changes", "changes", "final"))
    bound = random.choice((timedelta(hours=1), timedelta(seconds=random.randrange(1, 30))))
    wait = min(bound, timedelta(seconds=random.choice((0, 0, 0, 1))))
    if emit == "final" and wait == bound:
        wait = timedelta(0)
    changing = emit == "changes" and random.random() < 0.2
    tables = {
        name: make_changes(table, random, make_habits(random)) if changing else delay_events(table, random)
        for name, table in case.tables.items()
    }
    schemas = {name: table.schema for name, table in tables.items()}
    both = BothWays(case.text, schemas, cep.Disorder(wait=wait, bound=bound, emit=emit), changing)
    pieces = random.choice((3, 8, 20, 60))
    parts = {
        name: cut_table(table, sorted(random.randint(0, len(table)) for _ in range(pieces - 1)))
        for name, table in tables.items()
    }
    restarts = {random.randrange(pieces) for _ in range(random.choice((0, 1, 3)))}
    try:
        for number in range(pieces):
            both.push({name: parts[name][number] for name in tables})
            if number in restarts:
                both.restart()
        both.finish()
        if emit == "changes" and not both.local.counts.late:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RejectedEventsWarning)
                assert both.netted.plain_rows() == Counter(list_rows(cep.sql(case.text, **tables))), "the batch answer"
            seen["compared with the batch answer"] += 1
    except (MatchFailure, PatternTooCostly):
        seen["failed"] += 1
    seen["retracts"] += bool(both.netted.retracts)
    seen["kept late events out"] += emit == "final" and both.local.counts.late > 0


def test_corrections_where_they_are_are_those_of_going_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    take = LocalCorrection.take

    def count(self: LocalCorrection, correction: Any) -> list[pa.Table]:
        seen["put right where they are"] += 1
        return take(self, correction)

    monkeypatch.setattr(LocalCorrection, "take", count)
    compute = ChainedCorrection._compute

    def count_chained(self: ChainedCorrection, *parts: Any) -> Any:
        found = compute(self, *parts)
        if isinstance(found, Correction):
            seen["between two searches"] += 1
            seen["up to the present"] += len(found.moved[0]) > 0
        else:
            seen["not told" if found is None else "looked further"] += 1
        return found

    monkeypatch.setattr(ChainedCorrection, "_compute", count_chained)
    wrong: list[tuple[int, object, AssertionError]] = []
    cases = 0
    for seed, case in list_cases():
        cases += 1
        try:
            check_case(case, seed, seen)
        except AssertionError as problem:
            wrong.append((seed, case, problem))
    report_smallest(wrong)
    assert seen["put right where they are"] > 2 * cases, f"most late events have a reach: {seen}"
    assert seen["between two searches"] > cases / 10, f"matches that hang together are parted: {seen}"
    assert seen["between two searches"] > 1.2 * seen["up to the present"], f"many meet before the present: {seen}"
    assert seen["retracts"] > cases / 8, f"many take something back: {seen}"
    assert seen["compared with the batch answer"] > cases / 5, f"many are compared: {seen}"
    assert seen["kept late events out"] > 5, f"some events are late for what was given out: {seen}"
