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
from typing import Any, Literal

from cepheid.errors import InvalidInput, InvalidQuery, SyntaxProblem, suggest_name
from cepheid.kernel.pattern import Strategy
from cepheid.language.builder.pattern_text import check_condition, check_order, check_output, show_duration, show_name
from cepheid.language.parsing.interval_parser import scale_unit, split_amount
from cepheid.language.parsing.sequence_parser import STRATEGIES

Function = Callable[[Any], Any]
Condition = str | Function
Where = Condition | Iterable[Condition] | None
Overflow = Literal["refuse", "drop_oldest"]
GroupTerm = str | tuple[Any, ...]

ONLY_STREAM = "?"  # in the text of a pattern whose streams are not known yet
_OVERFLOWS = {"refuse": "REFUSE", "drop_oldest": "DROP OLDEST"}


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """One variable of a pattern; `stream` None: the only one that the query is given."""

    variable: str
    stream: str | None = None
    repeated: bool = False
    negated: bool = False
    functions: tuple[Function, ...] = ()

    def show(self, stream: str) -> str:
        written = f"{'~' if self.negated else ''}{stream}{'+' if self.repeated else ''} {show_name(self.variable)}"
        told = "".join(f" /* {_name_function(function)} */" for function in self.functions)
        return f"{written}{'[]' if self.repeated else ''}{told}"


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Terms of which one is needed, or all in any order."""

    kind: Literal["one_of", "all_of"]
    terms: tuple[PatternTerm, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is known of a pattern so far.  Begin with `cep.pattern`, and give it to `cep.sql`, `cep.open` or
    `cep.explain` in place of text."""

    items: tuple[PatternTerm | PatternGroup, ...] = ()
    conditions: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    duration: timedelta | None = None
    chosen_strategy: Strategy | None = None
    consumes: bool = False
    limit: tuple[int, Overflow] | None = None
    timeouts: bool = False

    # --- terms -------------------------------------------------------------------------------------------
    def then(
        self, variable: str, stream: str | None = None, where: Where = None, *, one_or_more: bool = False
    ) -> Pattern:
        """The next event: `variable` names it, `stream` says of which stream it is.

        `where` is as in `where()`.  `one_or_more`: as many events as fit, of which SQL speaks as `b[1].x`, `b[last].x`,
        `avg(b[].x)`.
        """
        return _add_term(self, "then", PatternTerm(variable, stream, repeated=one_or_more), where)

    def not_(self, variable: str, stream: str | None = None, where: Where = None) -> Pattern:
        """No such event between its neighbours (needs `within` at the beginning and at the end of a pattern)."""
        return _add_term(self, "not_", PatternTerm(variable, stream, negated=True), where)

    def then_any_of(self, *terms: GroupTerm) -> Pattern:
        """The next event is one of these: `then_any_of(("b", "asks"), ("c", "trades", "c.price > 5"))`.

        Each is a variable, or (variable, stream), or (variable, stream, where).  Columns of the others are null.
        """
        return _add_group(self, "then_any_of", "one_of", terms)

    def then_all_of(self, *terms: GroupTerm) -> Pattern:
        """The next events are all of these, in any order; terms as in `then_any_of`."""
        return _add_group(self, "then_all_of", "all_of", terms)

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
        return replace(self, duration=_read_duration(duration))

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
        return tuple(
            term for item in self.items for term in (item.terms if isinstance(item, PatternGroup) else (item,))
        )


def pattern(
    variable: str | None = None, stream: str | None = None, where: Where = None, *, one_or_more: bool = False
) -> Pattern:
    """Begin a pattern with its first event: `cep.pattern("a", stream="bids")`.

    The stream may be left out when the query is given exactly one.  Without a variable the pattern is empty, for those
    that begin with `not_` or a group.
    """
    if variable is not None:
        return _add_term(Pattern(), "pattern", PatternTerm(variable, stream, repeated=one_or_more), where)
    if stream is not None or where is not None or one_or_more:
        raise InvalidQuery("pattern(...) is given no variable", hint='write cep.pattern("a", stream="bids")')
    return Pattern()


def write_pattern(pattern: Pattern, name_stream: Callable[[str | None], str], outputs: tuple[str, ...]) -> str:
    """The text, given what streams are called and which columns come out."""
    items = ", ".join(_show_item(item, name_stream) for item in pattern.items)
    lines = [f"SELECT {', '.join(outputs)}", f"FROM PATTERN SEQ({items})"]
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
    if pattern.limit is not None:
        count, overflow = pattern.limit
        lines.append(f"  LIMIT PARTIALS {count} {_OVERFLOWS[overflow]}")
    return "\n".join(lines)


def _show_item(item: PatternTerm | PatternGroup, name_stream: Callable[[str | None], str]) -> str:
    if isinstance(item, PatternTerm):
        return item.show(name_stream(item.stream))
    mark = " | " if item.kind == "one_of" else " & "
    return f"({mark.join(term.show(name_stream(term.stream)) for term in item.terms)})"


def _name_function(function: Function) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"Python: {name}".replace("*/", "* /")


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


def _read_group_term(call: str, term: GroupTerm) -> tuple[str, str | None, Where]:
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


def _read_duration(written: timedelta | str) -> timedelta:
    hint = 'write within("10 seconds") or within(timedelta(seconds=10))'
    if isinstance(written, timedelta):
        return written
    if not isinstance(written, str):
        raise InvalidQuery(f"within(...): {written!r} is no duration", hint=hint)
    try:
        amount, unit = split_amount(written, None)
        if unit:
            return scale_unit(amount, unit, None)
    except SyntaxProblem as problem:
        raise InvalidQuery(f"within(...): {problem.message}", hint=hint) from None
    raise InvalidQuery(f'within(...): "{written}" has no unit of time', hint=hint)


def _check_text(call: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidQuery(f"{call}(...): {value!r} is not SQL text", hint='write for instance "a.id"')


def _add_term(pattern: Pattern, call: str, term: PatternTerm, where: Where) -> Pattern:
    _check_term(call, term, pattern.terms)
    return _add_conditions(replace(pattern, items=(*pattern.items, term)), call, _list_conditions(where))


def _add_group(
    pattern: Pattern, call: str, kind: Literal["one_of", "all_of"], written: tuple[GroupTerm, ...]
) -> Pattern:
    if len(written) < 2:
        raise InvalidQuery(f"{call}(...) needs two terms or more", hint='write .then("b") for a single one')
    terms: list[PatternTerm] = []
    conditions: list[str] = []
    for each in written:
        variable, stream, where = _read_group_term(call, each)
        texts, functions = _sort_conditions(call, _list_conditions(where))
        term = PatternTerm(variable, stream, functions=functions)
        _check_term(call, term, (*pattern.terms, *terms))
        terms.append(term)
        conditions += texts
    items = (*pattern.items, PatternGroup(kind, tuple(terms)))
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
