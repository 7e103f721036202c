"""Windows in GROUP BY, turned into table functions.

    SELECT TUMBLE_START(ts, d), count(*) FROM s GROUP BY TUMBLE(ts, d)             Flink's older spelling; HOP, SESSION
    SELECT window.start, count(*) FROM s GROUP BY window(ts, '10 minutes')         Spark's; session_window

    =>  SELECT window_start, count(*) FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), d)) GROUP BY window_start, window_end

Over several tables there is no one stream to have windows: then TUMBLE is arithmetic, and others are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, Span
from cepheid.language.parsing.interval_parser import read_interval, scale_unit, split_amount
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.window_expressions import BEFORE_END, END, START, TIME, shift, write_floor
from cepheid.language.parsing.window_function_parser import WINDOW_CALL, WindowCall, WindowCallKind

FLINK: dict[str, WindowCallKind] = {"TUMBLE": "tumble", "HOP": "hop", "SESSION": "session"}
SPARK = ("WINDOW", "SESSION_WINDOW")
PARTS = {"START": START, "END": END, "ROWTIME": TIME}
IN_SPARK = timedelta(microseconds=1)  # so much before the end of a window its window_time is; in Flink a millisecond
COMPUTED = "_window_of"  # a column that holds the time, where it is no plain column
HINT = "write GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), HOP(ts, slide, size) or SESSION(ts, gap)"


@dataclass(frozen=True, slots=True)
class _GroupWindow:
    """term: the call; written: as GROUP BY has it, which may be the name of an output."""

    term: exp.Anonymous
    written: exp.Expr
    kind: WindowCallKind
    time: exp.Expr
    size: timedelta
    step: timedelta | None = None
    offset: timedelta = timedelta(0)
    is_spark: bool = False


def call_group_windows(select: exp.Select) -> None:
    """Change a SELECT that groups by a window of Flink's; others stay."""
    _call_window(select, is_spark=False)


def call_spark_windows(select: exp.Select) -> None:
    """The same of Spark's."""
    _call_window(select, is_spark=True)


def _call_window(select: exp.Select, is_spark: bool) -> None:
    group = select.args.get("group")
    terms = group.expressions if group is not None else []
    found = [window for term in terms if (window := _read_window(term, select)) and window.is_spark == is_spark]
    if not found:
        if is_spark:
            _write_scalar_windows(select)
        return
    if len(found) > 1:
        _refuse(found[1].term, "a second window in GROUP BY", "group by one window")
    (window,) = found
    source = select.args.get("from_")
    if source is None:
        _refuse(window.term, "a window without FROM", "add FROM and a stream")
    if select.args.get("joins") or source.this.args.get("joins") or select.args.get("laterals"):
        _write_arithmetic(select, window)
        return
    item = source.this
    time = window.time.unnest()
    if is_spark and _is_window_of(time, item):
        time = shift(exp.Dot(this=time.copy(), expression=exp.to_identifier("end", quoted=True)), -IN_SPARK)
    qualified = isinstance(time, exp.Column) and not time.args.get("db")
    call = WindowCall(
        kind=window.kind,
        source=item.copy() if qualified else _with_time(item, time),
        time=exp.column(time.name, quoted=True) if qualified else exp.column(COMPUTED, quoted=True),
        size=window.size,
        step=window.step,
        offset=window.offset,
        partition_by=(),
        span=span_of(window.term) or Span(0, 0),
    )
    if qualified:
        call.time.this.meta.update(time.this.meta)
    bounds: dict[str, exp.Expr] = {name: exp.column(name) for name in (START, END, TIME)}
    if is_spark:
        bounds[TIME] = shift(exp.column(END), -IN_SPARK)
    if window.kind == "session":
        call = _by_key(call, select, window)
    _replace_parts(select, window, bounds)
    carrier = exp.Table(this=exp.to_identifier("_"))
    carrier.meta[WINDOW_CALL] = call
    if item.alias_or_name:
        carrier.set("alias", exp.TableAlias(this=exp.to_identifier(item.alias_or_name, quoted=True)))
    item.replace(carrier)
    _set_groups(select, window, [exp.column(START), exp.column(END)])


def _is_window_of(time: exp.Expr, item: exp.Expr) -> bool:
    """Is it the window that a subquery groups by: GROUP BY window(window, '1 hour')?"""
    inner = item.this if isinstance(item, exp.Subquery) else None
    if not isinstance(time, exp.Column) or time.name.lower() not in ("window", "session_window"):
        return False
    group = inner.args.get("group") if isinstance(inner, exp.Select) else None
    return any(term.name.upper() in SPARK for term in group.expressions) if group is not None else False


def _with_time(item: exp.Expr, time: exp.Expr) -> exp.Expression:
    computed = exp.alias_(time.copy(), COMPUTED, quoted=True)
    select = exp.Select(expressions=[exp.Star(), computed], from_=exp.From(this=item.copy()))
    return select.subquery(item.alias_or_name or None, copy=False)


def _by_key(call: WindowCall, select: exp.Select, window: _GroupWindow) -> WindowCall:
    """A session in GROUP BY is of the events of one group: the other terms are its keys."""
    terms = [term for term in select.args["group"].expressions if term is not window.written]
    keys = [_read_output(term, select) for term in terms]
    qualifier = call.source.alias_or_name.lower()
    copies = [key.copy() for key in keys]
    for column in (column for key in copies for column in key.find_all(exp.Column)):
        if column.table.lower() == qualifier:
            column.set("table", None)
    return WindowCall(
        kind=call.kind,
        source=call.source,
        time=call.time,
        size=call.size,
        span=call.span,
        partition_by=tuple(copies),  # type: ignore[arg-type]
    )


def _read_output(term: exp.Expr, select: exp.Select) -> exp.Expr:
    """A number or a name in GROUP BY may stand for an output."""
    outputs = select.expressions
    if isinstance(term, exp.Literal) and term.name.isdigit() and 1 <= int(term.name) <= len(outputs):
        return outputs[int(term.name) - 1].unalias()
    if isinstance(term, exp.Column) and not term.table:
        named = [item for item in outputs if isinstance(item, exp.Alias) and item.alias.lower() == term.name.lower()]
        return named[0].unalias() if named else term
    return term


# --- reading ---------------------------------------------------------------------------------------------
def _read_window(term: exp.Expr, select: exp.Select) -> _GroupWindow | None:
    call = term if isinstance(term, exp.Anonymous) else _read_output(term, select)
    if not isinstance(call, exp.Anonymous):
        return None
    name, given = call.name.upper(), call.expressions
    if name in FLINK and len(given) == (3 if name == "HOP" else 2):
        durations = [_read_duration(each) for each in given[1:]]
        step = durations[0] if name == "HOP" else None
        return _GroupWindow(call, term, FLINK[name], given[0], durations[-1], step)
    if name in FLINK:
        _refuse(call, f"{name} with {len(given)} arguments in GROUP BY", HINT)
    if name == "SESSION_WINDOW" and len(given) == 2:
        return _GroupWindow(call, term, "session", given[0], _read_duration(given[1]), is_spark=True)
    if name == "WINDOW" and 2 <= len(given) <= 4:
        size, *rest = (_read_duration(each) for each in given[1:])
        slides = rest and rest[0] != size
        offset = rest[1] if len(rest) == 2 else timedelta(0)
        step = rest[0] if slides else None
        return _GroupWindow(call, term, "hop" if slides else "tumble", given[0], size, step, offset, is_spark=True)
    if name in SPARK:
        hint = "write window(ts, '10 minutes'), or session_window(ts, '5 minutes')"
        _refuse(call, f"{call.name.lower()} with {len(given)} arguments", hint)
    return None


def _read_duration(node: exp.Expr) -> timedelta:
    """INTERVAL '10' SECOND, or '10 minutes' as in Spark."""
    inner = node.unnest()
    if isinstance(inner, exp.Interval) and (length := read_interval(inner)) is not None:
        return timedelta(microseconds=length)
    if isinstance(inner, exp.Literal) and inner.is_string:
        amount, unit = split_amount(inner.name.lower().removeprefix("interval").strip(), span_of(inner))
        return scale_unit(amount, unit, span_of(inner))
    return _refuse(node, "a window whose length is no literal", "write INTERVAL '10' SECOND")


# --- changing --------------------------------------------------------------------------------------------
def _replace_parts(select: exp.Select, window: _GroupWindow, bounds: dict[str, exp.Expr]) -> None:
    """TUMBLE_START(ts, d), window.start and the like, wherever the SELECT has them."""
    for node in list(select.find_all(exp.Anonymous, exp.Column, exp.Dot)):
        if node.find_ancestor(exp.Select) is not select:
            continue
        part = _find_spark_part(node, window, select) if window.is_spark else _find_flink_part(node, window)
        if part == "struct":
            _put(node, select, _write_struct(bounds), "session_window" if window.kind == "session" else "window")
        elif part is not None:
            _put(node, select, bounds[part].copy(), node.name if isinstance(node, exp.Column | exp.Dot) else part)


def _put(node: exp.Expr, select: exp.Select, written: exp.Expr, name: str) -> None:
    is_output = node.parent is select and node.arg_key == "expressions"
    node.replace(exp.alias_(written, name, quoted=True) if is_output else written)


def _find_flink_part(node: exp.Expr, window: _GroupWindow) -> str | None:
    if not isinstance(node, exp.Anonymous):
        return None
    function, _, part = node.name.upper().partition("_")
    if FLINK.get(function) is None or not part:
        return None
    if part == "PROCTIME":
        _refuse(node, node.name.upper(), f"write {function}_END(...): the window ends by event time")
    if part not in PARTS:
        return None
    same = FLINK[function] == window.kind and [each.sql() for each in node.expressions] == [
        each.sql() for each in window.term.expressions
    ]
    if not same:
        raise InvalidQuery(
            f'"{node.sql()}" is of another window than GROUP BY has',
            span=span_of(node),
            hint=f"write the same arguments in both: {window.term.sql()}",
        )
    return PARTS[part]


def _find_spark_part(node: exp.Expr, window: _GroupWindow, select: exp.Select) -> str | None:
    called = {"session_window" if window.kind == "session" else "window"}
    called |= {item.alias.lower() for item in select.expressions if item.unalias() == window.term and item.alias}
    fields = {"start": START, "end": END}
    if isinstance(node, exp.Column):
        if node.table.lower() in called:
            return fields.get(node.name.lower())
        in_group = node.find_ancestor(exp.Group) is not None
        return "struct" if not node.table and node.name.lower() in called and not in_group else None
    if isinstance(node, exp.Dot):
        return fields.get(node.name.lower()) if node.this.unnest() == window.term else None
    if node.name.upper() == "WINDOW_TIME" and node.find_ancestor(exp.Group) is None:
        return TIME
    owner = node.parent
    is_field = isinstance(owner, exp.Dot) or (isinstance(owner, exp.Paren) and isinstance(owner.parent, exp.Dot))
    in_group = node.find_ancestor(exp.Group) is not None
    return "struct" if node == window.term and not is_field and not in_group else None


def _write_struct(bounds: dict[str, exp.Expr]) -> exp.Expr:
    fields = [
        exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build("timestamp"))
        for name in ("start", "end")
    ]
    row = exp.Anonymous(this="ROW", expressions=[bounds[START].copy(), bounds[END].copy()])
    return exp.Cast(this=row, to=exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True))


def _set_groups(select: exp.Select, window: _GroupWindow, written: list[exp.Expr]) -> None:
    group = select.args["group"]
    others = [term for term in group.expressions if term is not window.written]
    kept = [_read_output(term, select) if isinstance(term, exp.Literal) else term for term in others]
    is_window = [isinstance(term, exp.Column) and term.name in (START, END) for term in kept]
    others = [term.copy() for term, bound in zip(kept, is_window, strict=True) if not bound]
    others = [term for term in others if not _names_window(term, window)]
    select.set("group", exp.Group(expressions=[*others, *written], **_other_parts(group)))


def _names_window(term: exp.Expr, window: _GroupWindow) -> bool:
    """GROUP BY w, where an output `window(...) AS w` was."""
    return isinstance(term, exp.Cast) or (isinstance(term, exp.Column) and window.is_spark and term.name == "window")


def _other_parts(group: exp.Expr) -> dict[str, object]:
    return {part: value for part, value in group.args.items() if part != "expressions" and value}


def _write_arithmetic(select: exp.Select, window: _GroupWindow) -> None:
    """Over several tables."""
    if window.kind != "tumble":
        hint = "join in a subquery, and let the window be of its rows"
        _refuse(window.term, f"{window.term.name.upper()} in GROUP BY over several tables", hint)
    start = write_floor(window.time, window.size, window.offset)
    end = shift(start.copy(), window.size)
    before = IN_SPARK if window.is_spark else BEFORE_END
    _replace_parts(select, window, {START: start, END: end, TIME: shift(end.copy(), -before)})
    _set_groups(select, window, [start.copy()])


def _write_scalar_windows(select: exp.Select) -> None:
    """window(ts, '10 minutes') of a SELECT that does not group by it: where the window of the event starts and ends."""
    for node in [node for node in select.find_all(exp.Anonymous) if node.name.upper() in SPARK]:
        if node.find_ancestor(exp.Select) is not select or node.find_ancestor(exp.Group) is not None:
            continue
        window = _read_window(node, select)
        if window is None or window.kind != "tumble":
            _refuse(node, f"{node.name.lower()} of an event that is in several windows", "write it in GROUP BY")
        start = write_floor(window.time, window.size, window.offset)
        bounds = {START: start, END: shift(start.copy(), window.size)}
        owner = node.parent.parent if isinstance(node.parent, exp.Paren) else node.parent
        part = {"start": START, "end": END}.get(owner.name.lower()) if isinstance(owner, exp.Dot) else None
        if owner is not None and part is not None:
            _put(owner, select, bounds[part], owner.name)
        else:
            _put(node, select, _write_struct(bounds), "window")


def _refuse(node: exp.Expr, what: str, hint: str) -> NoReturn:
    raise NotSupportedYet(what, span=span_of(node), hint=hint)
