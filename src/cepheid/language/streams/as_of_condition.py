"""What an ASOF JOIN or a FOR SYSTEM_TIME AS OF asks for: which times are compared, which columns must be equal.

    a ASOF JOIN b ON a.id = b.id AND a.ts >= b.ts              equal: id; a.ts >= b.ts
    a ASOF JOIN b USING (id, ts)                               the same: the last column is the time
    a ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.id = b.id    the same
    a JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.id = b.id         the same, with the event time of b

Of the rows of b that are equal and not later (`>=`; earlier: `>`), the latest one joins: of equal times the one that
arrived last.  With `<=` and `<` it is the next row of b, the first one that arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import split_conditions
from cepheid.language.streams.stream_layout import StreamLayout

MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT}
PROCESSING_TIMES = ("proctime", "proc_time", "processing_time")
ASOF_HINT = "write a ASOF JOIN b ON a.id = b.id AND a.ts >= b.ts, with > , <= or < as well"
VERSION_HINT = "write FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts AS b ON a.id = b.id"

Owners = Callable[[exp.Expr], set[int]]
"""Of which items the columns of an expression are: 0, the left one, 1, the right one."""


@dataclass(frozen=True)
class AsOf:
    """comparison: of the left time with the right one (exp.GTE ...); right: None, the event time of the right side;
    outer: rows of the left side come out also without a partner; rest: conditions that are neither; chosen: a row of
    the right side must fulfil them to be chosen at all (ASOF), not only to be a partner (FOR SYSTEM_TIME)."""

    left: exp.Expr
    right: exp.Expr | None
    comparison: type[exp.Expr]
    outer: bool
    equalities: list[exp.Expr]
    rest: list[exp.Expr]
    chosen: bool

    @property
    def looks_back(self) -> bool:
        return self.comparison in (exp.GTE, exp.GT)


def is_as_of(join: exp.Expr) -> bool:
    return (join.args.get("method") or "").upper() == "ASOF" or join.this.args.get("version") is not None


def read_version(item: exp.Expr) -> exp.Expr | None:
    """The moment of FOR SYSTEM_TIME AS OF behind an item; None: processing time, which is now."""
    version = item.args["version"]
    if version.args.get("kind") != "AS OF" or str(version.this).upper() != "TIMESTAMP":
        raise NotSupportedYet(f'"{version.sql()}"', span=span_of(item), hint=VERSION_HINT)
    moment = version.expression.unnest()
    if isinstance(moment, exp.Anonymous | exp.Func) and _name_of(moment) in ("proctime", "current_timestamp", "now"):
        return None
    if not isinstance(moment, exp.Column):
        raise NotSupportedYet(
            f'FOR SYSTEM_TIME AS OF "{moment.sql()}"',
            span=span_of(moment) or span_of(item),
            hint="name the event time of the other side, or PROCTIME()",
        )
    return moment


def reads_present(item: exp.Expr, left: StreamLayout) -> bool:
    """Is the other side joined with the table as it is now?"""
    moment = read_version(item)
    return moment is None or (moment.name.lower() in PROCESSING_TIMES and left.find_name(moment.name) is None)


def reads_past(item: exp.Expr) -> bool:
    """Is the item joined as it was at a time that events tell?"""
    moment = read_version(item) if item.args.get("version") is not None else None
    return moment is not None and moment.name.lower() not in PROCESSING_TIMES


def is_valid(moment: exp.Expr, since: exp.Expr, until: exp.Expr) -> list[exp.Expr]:
    """Conditions: the moment is in [since, until); null has no bound."""
    return [
        exp.or_(is_null(since), exp.GTE(this=moment.copy(), expression=since.copy())),
        exp.or_(is_null(until), exp.LT(this=moment.copy(), expression=until.copy())),
    ]


def is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value.copy(), expression=exp.Null())


def refuse_version(item: exp.Expr) -> None:
    """Where a table stands for what it is now."""
    if item.args.get("version") is not None:
        raise NotSupportedYet(
            "FOR SYSTEM_TIME here", span=span_of(item.args["version"]) or span_of(item), hint=VERSION_HINT
        )


def read_as_of(join: exp.Expr, owners: Owners) -> AsOf:
    """join: without USING (`write_out_using`)."""
    side = (join.args.get("side") or "").upper()
    if side in ("RIGHT", "FULL") or (join.args.get("kind") or "").upper() not in ("", "INNER", "OUTER"):
        shown = side or join.args["kind"]
        raise NotSupportedYet(
            f"an ASOF or temporal {shown} JOIN", span=span_of(join), hint="write it as an inner or a LEFT JOIN"
        )
    conditions = split_conditions(join.args["on"]) if join.args.get("on") is not None else []
    equalities = [part for part in conditions if _ties(part, owners)]
    rest = [part for part in conditions if not any(part is other for other in equalities)]
    if join.this.args.get("version") is not None:
        moment = read_version(join.this)
        assert moment is not None, "a join with the present is none of these"
        if owners(moment) != {0}:
            raise InvalidQuery(
                f'FOR SYSTEM_TIME AS OF "{moment.sql()}" is not a time of the other side',
                span=span_of(moment),
                hint=VERSION_HINT,
            )
        if not equalities:
            raise InvalidQuery(
                "a temporal join without an equality", span=span_of(join), hint="for instance ON a.id = b.id"
            )
        return AsOf(moment, None, exp.GTE, side == "LEFT", equalities, rest, chosen=False)
    return _read_asof(join, owners, side == "LEFT", equalities, rest)


def _read_asof(join: exp.Expr, owners: Owners, outer: bool, equalities: list[exp.Expr], rest: list[exp.Expr]) -> AsOf:
    match = join.args.get("match_condition")
    compared = [match.unnest()] if match is not None else [part for part in rest if _compares(part, owners)]
    if len(compared) != 1 or not _compares(compared[0], owners):
        raise InvalidQuery(
            f"an ASOF JOIN compares one time of each side, here are {len(compared) if match is None else 'none'}",
            span=span_of(join),
            hint=ASOF_HINT,
        )
    (part,) = compared
    left, right, comparison = part.this, part.expression, type(part)
    if owners(left) == {1}:
        left, right, comparison = right, left, MIRRORED[comparison]
    others = [each for each in rest if each is not part]
    mixed = next((each for each in others if owners(each) == {0, 1}), None)
    if mixed is not None:
        raise NotSupportedYet(
            f'"{mixed.sql()}" in an ASOF JOIN, over both sides',
            span=span_of(mixed) or span_of(join),
            hint="say in WHERE what the row that was found must fulfil",
        )
    return AsOf(left.unnest(), right.unnest(), comparison, outer, equalities, others, chosen=True)


def _ties(part: exp.Expr, owners: Owners) -> bool:
    """Is it an equality between the two sides?"""
    return (
        isinstance(part, exp.EQ)
        and [len(owners(half)) for half in (part.left, part.right)] == [1, 1]
        and (owners(part.left) != owners(part.right))
    )


def _compares(part: exp.Expr, owners: Owners) -> bool:
    """Is it an inequality between the two sides?"""
    if not isinstance(part, exp.GTE | exp.GT | exp.LTE | exp.LT):
        return False
    return {frozenset(owners(part.this)), frozenset(owners(part.expression))} == {frozenset({0}), frozenset({1})}


def _name_of(call: exp.Expr) -> str:
    return (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()  # type: ignore[attr-defined]
