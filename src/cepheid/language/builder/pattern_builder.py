"""Patterns written in Python: a builder that ends in the same syntax tree as text.

    rising = (
        cep.pattern("a", stream="bids")
        .where("a.price > 10")
        .then("b", stream="bids", where="b.id = a.id AND b.price > a.price")
        .not_("c", stream="cancels", where=is_serious)           a function on Arrow columns
        .then("d", stream="bids")
        .within("10 seconds")
        .select("a.id", last="d.ts")
    )
    cep.sql(rising, bids=bids, cancels=cancels)

A Pattern is a value: each call gives a new one, so that variants can share a beginning.  It is written out as the SQL
text that a person would write (`pattern.sql`), which is then parsed like any other: the text is what errors point
into and what `explain` shows.  Functions in Python have no text; they are put beside their terms afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, TypedDict, Unpack

from cepheid.errors import InvalidInput, InvalidQuery, SyntaxProblem, suggest_name
from cepheid.kernel.pattern import Strategy
from cepheid.language.builder.pattern_terms import (
    Count,
    Function,
    Link,
    PatternGroup,
    PatternItem,
    PatternTerm,
    show_items,
    walk_terms,
)
from cepheid.language.builder.pattern_text import check_condition, check_order, check_output, show_duration, show_name
from cepheid.language.parsing.interval_parser import scale_unit, split_amount
from cepheid.language.parsing.sequence_parser import STRATEGIES

Condition = str | Function
Where = Condition | Iterable[Condition] | None
Overflow = Literal["refuse", "drop_oldest"]


class Repetition(TypedDict, total=False):
    """How often a step happens, and how its events follow one another."""

    one_or_more: bool
    times: int | tuple[int, int | None]
    optional: bool
    consecutive: bool
    combinations: bool
    greedy: bool
    until: str | tuple[Any, ...]
    every: bool


ONLY_STREAM = "?"  # in the text of a pattern whose streams are not known yet
_OVERFLOWS = {"refuse": "REFUSE", "drop_oldest": "DROP OLDEST"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is known of a pattern so far.  Begin with `cep.pattern`, and give it to `cep.sql`, `cep.open` or
    `cep.explain` in place of text."""

    items: tuple[PatternItem, ...] = ()
    conditions: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    duration: timedelta | None = None
    chosen_strategy: Strategy | None = None
    consumes: bool = False
    limit: tuple[int, Overflow] | None = None
    timeouts: bool = False
    begins: Literal["", "ONCE", "PER KEY", "ONCE PER KEY"] = ""

    # --- terms -------------------------------------------------------------------------------------------
    def then(
        self, variable: str, stream: str | None = None, where: Where = None, **repeated: Unpack[Repetition]
    ) -> Pattern:
        """The next event, as the strategy says: `variable` names it, `stream` says of which stream it is.

        `where` is as in `where()`.  `one_or_more`: as many events as fit, of which SQL speaks as `b[1].x`, `b[last].x`,
        `avg(b[].x)`.  `times`: how many, as 3, (2, 5) or (2, None); `optional`: or none.  `consecutive`: they are
        neighbours;
        `combinations`: every choice of them; `greedy`: as many as there are; `until`: (variable, stream, where) of an
        event that ends them.  `every`: each event that fits goes on by itself.
        """
        return _add_step(self, "then", "", variable, stream, where, repeated)

    def next(
        self, variable: str | Pattern, stream: str | None = None, where: Where = None, **repeated: Unpack[Repetition]
    ) -> Pattern:
        """The very next event, of all streams of the pattern; arguments as of `then`.

        Instead of a variable, the steps of another pattern, as in `then_group`, of which the first is meant; so in
        `followed_by` and `followed_by_any`.
        """
        return _add_step(self, "next", "NEXT", variable, stream, where, repeated)

    def followed_by(
        self, variable: str | Pattern, stream: str | None = None, where: Where = None, **repeated: Unpack[Repetition]
    ) -> Pattern:
        """The first later event that fits, whatever becomes of other steps; arguments as of `then`."""
        return _add_step(self, "followed_by", "FOLLOWED BY", variable, stream, where, repeated)

    def followed_by_any(
        self, variable: str | Pattern, stream: str | None = None, where: Where = None, **repeated: Unpack[Repetition]
    ) -> Pattern:
        """Each later event that fits; arguments as of `then`."""
        return _add_step(self, "followed_by_any", "FOLLOWED BY ANY", variable, stream, where, repeated)

    def not_(
        self,
        variable: str,
        stream: str | None = None,
        where: Where = None,
        *,
        lasting: timedelta | str | None = None,
        every: bool = False,
    ) -> Pattern:
        """No such event between its neighbours (needs `within` at the beginning and at the end of a pattern).

        `lasting`: a step of its own, none for so long behind the step before; `every`: again and again.
        """
        duration = None if lasting is None else _read_duration("not_", lasting)
        return _add_term(
            self, "not_", PatternTerm(variable, stream, negated=True, lasting=duration, every=every), where
        )

    def not_next(self, variable: str, stream: str | None = None, where: Where = None) -> Pattern:
        """The next event is no such event."""
        return _add_term(self, "not_next", PatternTerm(variable, stream, negated=True, link="NOT NEXT"), where)

    def not_followed_by(self, variable: str, stream: str | None = None, where: Where = None) -> Pattern:
        """No such event before the next step; the same as `not_`."""
        term = PatternTerm(variable, stream, negated=True, link="NOT FOLLOWED BY")
        return _add_term(self, "not_followed_by", term, where)

    def then_any_of(self, *terms: str | tuple[Any, ...] | Pattern) -> Pattern:
        """The next event is one of these: `then_any_of(("b", "asks"), ("c", "trades", "c.price > 5"))`.

        Each is a variable, or (variable, stream), or (variable, stream, where), or a pattern of its own, as
        `cep.pattern().not_("c", "cancels", lasting="2 s")`.  Columns of the others are null.
        """
        return _add_group(self, "then_any_of", "one_of", terms)

    def then_all_of(self, *terms: str | tuple[Any, ...] | Pattern) -> Pattern:
        """The next events are all of these, in any order; terms as in `then_any_of`."""
        return _add_group(self, "then_all_of", "all_of", terms)

    def then_group(self, group: Pattern, **repeated: Unpack[Repetition]) -> Pattern:
        """The steps of another pattern, one after the other; arguments as of `then`: `then_group(pair, times=(2,
        None))`.

        `every`: when they are complete, they may begin again.
        """
        return _add_pattern(self, "then_group", group, repeated)

    def where(self, *conditions: Condition) -> Pattern:
        """Conditions that must all hold.

        As SQL text they may speak of any variable: "b.price > a.price".  A function is a condition on the term named
        last: it is given an Arrow table with the columns of that stream, one row for each event, and answers with one
        boolean for each (an Arrow or numpy array; null is false).  It is asked before the pattern is matched, and
        again about events that were kept, so its answer must depend on nothing but the row.
        """
        if not conditions:
            raise InvalidQuery("where() is given no condition", hint='write .where("a.price > 10")')
        if not self.items:
            raise InvalidQuery("where(...) comes before the first term", hint='begin with cep.pattern("a")')
        return _add_conditions(self, "where", conditions)

    # --- the whole pattern -------------------------------------------------------------------------------
    def within(self, duration: timedelta | str) -> Pattern:
        """The most time from the first event of a match to its last: timedelta(seconds=10) or "10 seconds"."""
        return replace(self, duration=_read_duration("within", duration))

    def strategy(self, name: str) -> Pattern:
        """skip_till_next (the default), skip_till_any, strict or partition_contiguity."""
        chosen = str(name).lower()
        if chosen not in STRATEGIES:
            raise InvalidQuery(f'strategy(...): there is no strategy "{name}"', hint=suggest_name(chosen, STRATEGIES))
        return replace(self, chosen_strategy=chosen)

    def order_by(self, *columns: str) -> Pattern:
        """The column of event time, and what decides between events of one time; needed if a stream has no timestamp
        column, or several."""
        if not columns:
            raise InvalidQuery("order_by() is given no column", hint='write .order_by("ts")')
        for column in columns:
            _check_text("order_by", column)
            check_order(column)
        return replace(self, order=columns)

    def consume_matched(self) -> Pattern:
        """Events of a match belong to no other match."""
        return replace(self, consumes=True)

    def once(self, *, per_key: bool = False) -> Pattern:
        """One match in all, or of each key; an attempt that fails is begun again."""
        return replace(self, begins="ONCE PER KEY" if per_key else "ONCE")

    def limit_partials(self, count: int, overflow: Overflow = "refuse") -> Pattern:
        """At most so many partial matches of one key; beyond that an error ("refuse"), or the oldest is dropped
        ("drop_oldest")."""
        if type(count) is not int or count < 1:
            raise InvalidQuery(f"limit_partials(...): {count!r} is no number of partial matches", hint="1 or more")
        if overflow not in _OVERFLOWS:
            hint = suggest_name(str(overflow), _OVERFLOWS)
            raise InvalidQuery(f'limit_partials(...): overflow cannot be "{overflow}"', hint=hint)
        return replace(self, limit=(count, overflow))

    def timeout_rows(self) -> Pattern:
        """Also tell partial matches whose time ran out; TIMED_OUT() says which they are."""
        return replace(self, timeouts=True)

    def select(self, *columns: str, **named: str) -> Pattern:
        """The columns of the rows, as SQL: `select("a.id", last="b.ts", n="count(b[])")`.

        Without it there is every column of every variable that is bound once: `a_id`, `a_ts`, `b_id`, ...
        """
        if not columns and not named:
            raise InvalidQuery("select() is given no column", hint='write .select("a.id", last="b.ts")')
        for column in (*columns, *named.values()):
            _check_text("select", column)
        for column in columns:
            check_output(column)
        for column in named.values():
            check_output(column, alone=True)
        aliased = (f"{column} AS {show_name(name)}" for name, column in named.items())
        return replace(self, outputs=(*columns, *aliased))

    # --- as text -----------------------------------------------------------------------------------------
    @property
    def sql(self) -> str:
        """The pattern as SQL text; functions are comments, and a stream that was not named is `?`."""
        named = {term.stream: ONLY_STREAM if term.stream is None else show_name(term.stream) for term in self.terms}
        return write_pattern(self, named.__getitem__, self.outputs or ("*",))

    def __repr__(self) -> str:
        return f"<Pattern\n{self.sql}\n>" if self.items else "<Pattern without terms>"

    @property
    def terms(self) -> tuple[PatternTerm, ...]:
        """All terms, in the order in which they are written."""
        return tuple(walk_terms(self.items))


def pattern(
    variable: str | None = None, stream: str | None = None, where: Where = None, **repeated: Unpack[Repetition]
) -> Pattern:
    """Begin a pattern with its first event: `cep.pattern("a", stream="bids")`; further arguments as of `then`.

    The stream may be left out when the query is given exactly one.  Without a variable the pattern is empty, for those
    that begin with `not_` or a group.
    """
    if variable is not None:
        return _add_step(Pattern(), "pattern", "", variable, stream, where, repeated)
    if stream is not None or where is not None or repeated:
        raise InvalidQuery("pattern(...) is given no variable", hint='write cep.pattern("a", stream="bids")')
    return Pattern()


def write_pattern(pattern: Pattern, name_stream: Callable[[str | None], str], outputs: tuple[str, ...]) -> str:
    """The text, given what streams are called and which columns come out."""
    lines = [f"SELECT {', '.join(outputs)}", f"FROM PATTERN SEQ({show_items(pattern.items, name_stream)})"]
    if pattern.order:
        lines.append(f"  ORDER BY {', '.join(pattern.order)}")
    if pattern.conditions:
        lines.append("  WHERE " + "\n    AND ".join(f"({condition})" for condition in pattern.conditions))
    if pattern.duration is not None:
        lines.append(f"  WITHIN {show_duration(pattern.duration)}")
    if pattern.timeouts:
        lines.append("  TIMEOUT ROWS")
    if pattern.chosen_strategy is not None:
        lines.append(f"  STRATEGY {pattern.chosen_strategy}")
    if pattern.consumes:
        lines.append("  CONSUME MATCHED")
    if pattern.begins:
        lines.append(f"  {pattern.begins}")
    if pattern.limit is not None:
        count, overflow = pattern.limit
        lines.append(f"  LIMIT PARTIALS {count} {_OVERFLOWS[overflow]}")
    return "\n".join(lines)


def _list_conditions(where: Where) -> tuple[Condition, ...]:
    if where is None:
        return ()
    if isinstance(where, str) or callable(where) or not isinstance(where, Iterable):
        return (where,)
    return tuple(where)


def _sort_conditions(call: str, conditions: Iterable[Condition]) -> tuple[tuple[str, ...], tuple[Function, ...]]:
    """SQL texts, each parsed on its own so that none can break out of its place; and functions."""
    texts: list[str] = []
    functions: list[Function] = []
    for condition in conditions:
        if isinstance(condition, str):
            check_condition(condition, call)
            texts.append(condition)
        elif callable(condition):
            functions.append(condition)
        else:
            raise InvalidInput(
                f"{call}(...): a condition is a {type(condition).__name__}, not SQL text or a function",
                hint='write "a.price > 10", or a function that answers with one boolean for each row of a table',
            )
    return tuple(texts), tuple(functions)


def _read_group_term(call: str, term: str | tuple[Any, ...]) -> tuple[str, str | None, Where]:
    match term:
        case str():
            return term, None, None
        case (str(variable),):
            return variable, None, None
        case (str(variable), stream):
            return variable, stream, None
        case (str(variable), stream, where):
            return variable, stream, where
    raise InvalidQuery(
        f"{call}(...): {term!r} is no term", hint='a term is "b", ("b", "asks") or ("b", "asks", "b.price > 5")'
    )


def _read_duration(call: str, written: timedelta | str) -> timedelta:
    hint = f'write "10 seconds" or timedelta(seconds=10) in {call}(...)'
    if isinstance(written, timedelta):
        return written
    if not isinstance(written, str):
        raise InvalidQuery(f"{call}(...): {written!r} is no duration", hint=hint)
    try:
        amount, unit = split_amount(written, None)
        if unit:
            return scale_unit(amount, unit, None)
    except SyntaxProblem as problem:
        raise InvalidQuery(f"{call}(...): {problem.message}", hint=hint) from None
    raise InvalidQuery(f'{call}(...): "{written}" has no unit of time', hint=hint)


def _read_count(call: str, repeated: Repetition) -> Count:
    """How often, of what `then` was told."""
    times, many = repeated.get("times"), repeated.get("one_or_more", False)
    if times is not None and many:
        raise InvalidQuery(f"{call}(...): one_or_more and times say the same thing", hint="leave one of them out")
    count: Count = (1, None if many else 1)
    match times:
        case None:
            pass
        case int() if type(times) is int and times > 0:
            count = (times, times)
        case (int(least), int() | None as most) if least >= 0 and (most is None or most >= max(least, 1)):
            count = (least, most)
        case _:
            hint = "write times=3, times=(2, 5) or times=(2, None)"
            raise InvalidQuery(f"{call}(...): {times!r} is no number of events", hint=hint)
    return (
        (0, count[1]) if repeated.get("optional", False) and count[0] <= 1 else _refuse_optional(call, count, repeated)
    )


def _refuse_optional(call: str, count: Count, repeated: Repetition) -> Count:
    if repeated.get("optional", False):
        hint = "put the step into a group of its own: then_group(cep.pattern(...), optional=True)"
        raise InvalidQuery(f"{call}(...): several events or none", hint=hint)
    return count


def _read_inner(call: str, repeated: Repetition) -> Literal["", "CONSECUTIVE", "COMBINATIONS"]:
    consecutive, combinations = repeated.get("consecutive", False), repeated.get("combinations", False)
    if consecutive and combinations:
        raise InvalidQuery(
            f"{call}(...): consecutive and combinations exclude each other", hint="leave one of them out"
        )
    return "CONSECUTIVE" if consecutive else "COMBINATIONS" if combinations else ""


def _check_arguments(call: str, repeated: Repetition) -> None:
    known = Repetition.__annotations__
    for name in repeated:
        if name not in known:
            raise InvalidQuery(f'{call}(...) has no argument "{name}"', hint=suggest_name(name, known))


def _check_text(call: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidQuery(f"{call}(...): {value!r} is not SQL text", hint='write for instance "a.id"')


def _add_step(
    pattern: Pattern,
    call: str,
    link: Link,
    variable: str | Pattern,
    stream: str | None,
    where: Where,
    repeated: Repetition,
) -> Pattern:
    if isinstance(variable, Pattern) and link:
        if stream is not None or where is not None:
            hint = f"write {call}(group), and say both of its steps"
            raise InvalidQuery(f"{call}(...): a group has no stream and no condition of its own", hint=hint)
        return _add_pattern(pattern, call, variable, repeated, link)
    if isinstance(variable, Pattern):
        hint = "write then_group(group), and cep.pattern().then_group(group) at the beginning"
        raise InvalidQuery(f"{call}(...) is given a group instead of a variable", hint=hint)
    _check_arguments(call, repeated)
    until, conditions = _read_until(call, pattern, repeated)
    term = PatternTerm(
        variable,
        stream,
        _read_count(call, repeated),
        link=link,
        inner=_read_inner(call, repeated),
        greedy=repeated.get("greedy", False),
        until=until,
        every=repeated.get("every", False),
    )
    return _add_term(pattern, call, term, (*_list_conditions(where), *conditions))


def _read_until(call: str, pattern: Pattern, repeated: Repetition) -> tuple[PatternTerm | None, tuple[str, ...]]:
    """The term of an event that ends a repetition, and its conditions."""
    if "until" not in repeated:
        return None, ()
    variable, stream, where = _read_group_term(call, repeated["until"])
    texts, functions = _sort_conditions(call, _list_conditions(where))
    term = PatternTerm(variable, stream, negated=True, functions=functions)
    _check_term(call, term, pattern.terms)
    return term, texts


def _add_pattern(pattern: Pattern, call: str, group: Pattern, repeated: Repetition, link: Link = "") -> Pattern:
    _check_arguments(call, repeated)
    if link and not pattern.items:
        raise InvalidQuery(f"{call}(...) comes before the first term", hint='begin with cep.pattern("a")')
    given: object = group
    if not isinstance(given, Pattern) or not given.items:
        raise InvalidQuery(f"{call}(...) is given no pattern", hint='write then_group(cep.pattern("b").then("c"))')
    items = _read_pattern(call, group, pattern.terms)
    until, conditions = _read_until(call, pattern, repeated)
    made = PatternGroup(
        "in_turn",
        items,
        _read_count(call, repeated),
        link=link,
        inner=_read_inner(call, repeated),
        greedy=repeated.get("greedy", False),
        until=until,
        every=repeated.get("every", False),
    )
    return replace(
        pattern, items=(*pattern.items, made), conditions=(*pattern.conditions, *group.conditions, *conditions)
    )


def _read_pattern(call: str, group: Pattern, known: Iterable[PatternTerm]) -> tuple[PatternItem, ...]:
    """The items of a pattern that becomes a part of another."""
    if replace(group, items=(), conditions=()) != Pattern():
        raise InvalidQuery(
            f"{call}(...): the pattern inside has more than terms and conditions",
            hint="say within, strategy, select and the like of the pattern around it",
        )
    for term in group.terms:
        _check_term(call, term, known)
    return group.items


def _add_term(pattern: Pattern, call: str, term: PatternTerm, where: Where) -> Pattern:
    if term.link and not pattern.items:
        raise InvalidQuery(f"{call}(...) comes before the first term", hint='begin with cep.pattern("a")')
    _check_term(call, term, pattern.terms)
    return _add_conditions(replace(pattern, items=(*pattern.items, term)), call, _list_conditions(where))


def _add_group(
    pattern: Pattern, call: str, kind: Literal["one_of", "all_of"], written: tuple[str | tuple[Any, ...] | Pattern, ...]
) -> Pattern:
    if len(written) < 2:
        raise InvalidQuery(f"{call}(...) needs two terms or more", hint='write .then("b") for a single one')
    members: list[PatternItem] = []
    conditions: list[str] = []
    for each in written:
        known = (*pattern.terms, *walk_terms(tuple(members)))
        if isinstance(each, Pattern):
            inside = _read_pattern(call, each, known)
            members.append(inside[0] if len(inside) == 1 else PatternGroup("in_turn", inside))
            conditions += each.conditions
            continue
        variable, stream, where = _read_group_term(call, each)
        texts, functions = _sort_conditions(call, _list_conditions(where))
        term = PatternTerm(variable, stream, functions=functions)
        _check_term(call, term, known)
        members.append(term)
        conditions += texts
    items = (*pattern.items, PatternGroup(kind, tuple(members)))
    return replace(pattern, items=items, conditions=(*pattern.conditions, *conditions))


def _add_conditions(pattern: Pattern, call: str, conditions: Iterable[Condition]) -> Pattern:
    """Texts join the WHERE clause, functions the term named last."""
    texts, functions = _sort_conditions(call, conditions)
    *items, last = pattern.items
    if functions and isinstance(last, PatternGroup):
        raise InvalidQuery(
            f"{call}(...): a function is a condition on one term, and a group was named last",
            hint='give it to the term: then_any_of(("b", "asks", function), ...)',
        )
    if functions and isinstance(last, PatternTerm):
        last = replace(last, functions=(*last.functions, *functions))
    return replace(pattern, items=(*items, last), conditions=(*pattern.conditions, *texts))


def _check_term(call: str, term: PatternTerm, known: Iterable[PatternTerm]) -> None:
    names: list[tuple[str, object]] = [("variable", term.variable)]
    if term.stream is not None:
        names.append(("stream", term.stream))
    for what, value in names:
        if not (isinstance(value, str) and value):
            raise InvalidQuery(f"{call}(...): {value!r} is no name of a {what}", hint=f'give text, as in {call}("b")')
    if term.variable.lower() in {other.variable.lower() for other in known}:
        raise InvalidQuery(
            f'{call}("{term.variable}"): the pattern has a variable "{term.variable}" already',
            hint="each term has a name of its own; case does not tell names apart",
        )
