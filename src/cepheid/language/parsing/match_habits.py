"""What patterns mean where systems differ, and MATCH_ROWTIME() in the words of the standard.

              without AFTER MATCH    WITHIN d                                       FIRST(x, n) of ALL ROWS
ours          SKIP PAST LAST ROW     last row's time - first row's time <= d        the rows so far
Trino         SKIP PAST LAST ROW                                                    all rows of the match
Flink         SKIP TO NEXT ROW       < d
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import AfterMatch, Definition, MatchRecognizeClause, Measure, Within

CLOSEST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class MatchHabits:
    """skip: where no AFTER MATCH is written; open_within: is a match of exactly that length too long?;
    first_of_all: does FIRST see all rows of a match, be it running or not?"""

    skip: Literal["past_last", "to_next"] = "past_last"
    open_within: bool = False
    first_of_all: bool = False


def follow_habits(clause: MatchRecognizeClause, habits: MatchHabits) -> MatchRecognizeClause:
    """The clause with what the dialect leaves unsaid."""
    after = clause.after_match
    if after.span is None and habits.skip != after.kind:
        after = AfterMatch(habits.skip)
    return replace(
        clause,
        after_match=after,
        within=follow_within(clause.within, habits),
        measures=tuple(_spell_measure(measure, clause, habits) for measure in clause.measures),
        definitions=tuple(
            Definition(each.variable, _spell_times(each.condition, clause)) for each in clause.definitions
        ),
    )


def follow_within(within: Within | None, habits: MatchHabits) -> Within | None:
    if within is None or not habits.open_within:
        return within
    duration = within.duration
    return Within(duration - 1 if isinstance(duration, int) else duration - CLOSEST, within.span)


def _spell_measure(measure: Measure, clause: MatchRecognizeClause, habits: MatchHabits) -> Measure:
    written = _spell_times(measure.expression, clause)
    return replace(measure, expression=_see_all(written) if habits.first_of_all else written)


def _see_all(tree: exp.Expression) -> exp.Expression:
    """FIRST as FINAL FIRST."""
    for first in list(tree.find_all(exp.First)):
        final = exp.Anonymous(this="FINAL", expressions=[first.copy()])
        if first is tree:
            return final
        first.replace(final)
    return tree


def _spell_times(tree: exp.Expression, clause: MatchRecognizeClause) -> exp.Expression:
    """MATCH_ROWTIME() is the time of the last row."""
    for call in [node for node in tree.find_all(exp.Anonymous) if node.name.upper().startswith("MATCH_")]:
        if call.name.upper() == "MATCH_PROCTIME":
            hint = "MATCH_ROWTIME() is the time of its last row"
            raise NotSupportedYet("the moment at which a match was found", span=span_of(call), hint=hint)
        if call.name.upper() != "MATCH_ROWTIME":
            continue
        written = exp.Last(this=_find_time(call, clause))
        if call is tree:
            return written
        call.replace(written)
    return tree


def _name_column(written: exp.Expr) -> str | None:
    column = written.unnest()
    return column.name.lower() if isinstance(column, exp.Column) else None


def _find_time(call: exp.Anonymous, clause: MatchRecognizeClause) -> exp.Expr:
    if not clause.order_by:
        raise InvalidQuery("MATCH_ROWTIME needs ORDER BY", span=span_of(call), hint="order the rows by their time")
    time = clause.order_by[0].expression.copy()
    if call.expressions and [_name_column(written) for written in call.expressions] != [_name_column(time)]:
        raise InvalidQuery(
            f'MATCH_ROWTIME is of the column that ORDER BY names first, "{time.sql()}"',
            span=span_of(call),
            hint="write MATCH_ROWTIME()",
        )
    for node in time.walk():
        node.meta.update(call.meta)
    return time
