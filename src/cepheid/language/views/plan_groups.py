"""GROUP BY: what is grouped by and what is aggregated become columns, and the SELECT is over the groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from cepheid.language.views.plan_grouping_sets import Set, has_sets, list_sets, read_grouping
from cepheid.language.views.steps import Rows, Steps, Unplanned, column, flatten, has_query, sql_of
from cepheid.language.views.view_plan import Columns, GroupAggregate, GroupStep, KeyedStep, MapStep, UnionStep

_KNOWN: dict[type[exp.Expr], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.CountIf: "count_if",
}  # fmt: skip
_SET = "_set"
_AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass
class Grouped:
    """What a SELECT says of its rows or groups."""

    outputs: list[exp.Expr]
    having: exp.Expr | None = None
    qualify: exp.Expr | None = None
    order: list[exp.Expr] = field(default_factory=list)

    def all(self) -> Iterator[exp.Expr]:
        yield from self.outputs
        yield from (each for each in (self.having, self.qualify) if each is not None)
        yield from self.order


def group_rows(
    steps: Steps, rows: Rows, select: exp.Select, wanted: Grouped, is_aggregate: Callable[[exp.Func], bool]
) -> tuple[Rows, Grouped]:
    """The groups, and what is said of them in terms of their columns."""
    group = select.args.get("group")
    found = _find_aggregates(wanted, is_aggregate)
    if group is None and not found:
        if wanted.having is not None:
            raise Unplanned
        return rows, wanted
    if any(map(has_query, wanted.all())):
        raise Unplanned
    keys, sets = _list_keys(group, wanted, is_aggregate)
    key_names = {text: f"_k.{number}" for number, text in enumerate(keys)}
    told = {text: call for text, call in found.items() if isinstance(call, exp.Grouping | exp.GroupingId)}
    grouping = _Grouping([(key_names[text], text) for text in keys])
    called = [each for text, each in found.items() if text not in told]
    aggregates = {sql_of(each): grouping.add(each, f"_g.{number}") for number, each in enumerate(called)}
    bits = {text: f"_bits.{number}" for number, text in enumerate(told)}
    known = {**key_names, **aggregates, **bits}
    named = Grouped(
        [_name_parts(each, known) for each in wanted.outputs],
        None if wanted.having is None else _name_parts(wanted.having, known),
        None if wanted.qualify is None else _name_parts(wanted.qualify, known),
        [_name_parts(each, known) for each in wanted.order],
    )
    _check_named(named, tuple(known.values()))
    if sets is None:
        made = grouping.add_to(steps, rows, tuple(key_names.values()))
    else:
        values = [[(bits[text], str(read_grouping(call, each))) for text, call in told.items()] for each in sets]
        chosen = [tuple(key_names[text] for text in each) for each in sets]
        made = grouping.add_sets(steps, rows, tuple(key_names.values()), list(zip(chosen, values, strict=True)))
    if named.having is not None:
        outputs = tuple((name, column(name)) for name in made.columns)
        made = steps.add(MapStep(made.step, outputs, sql_of(named.having)), made.columns, made.identity)
        named.having = None
    return made, named


def _find_aggregates(wanted: Grouped, is_aggregate: Callable[[exp.Func], bool]) -> dict[str, exp.Expr]:
    """Calls of aggregates, by their text, whole: with FILTER and WITHIN GROUP; not those with OVER."""
    found: dict[str, exp.Expr] = {}
    for value in wanted.all():
        for call in filter(is_aggregate, value.find_all(exp.Func)):
            whole: exp.Expr = call
            while isinstance(whole.parent, _AROUND) and whole.arg_key == "this":
                whole = whole.parent
            if isinstance(whole.parent, exp.Window) and whole.arg_key == "this":
                continue
            if not any(is_aggregate(above) for above in _list_above(whole)):
                found.setdefault(sql_of(whole), whole)
    return found


def _list_above(node: exp.Expr) -> Iterator[exp.Func]:
    """Functions that it is an argument of."""
    above = node.find_ancestor(exp.Func)
    while above is not None:
        if not isinstance(above, exp.Window):
            yield above
        above = above.find_ancestor(exp.Func)


def _list_keys(
    group: exp.Group | None, wanted: Grouped, is_aggregate: Callable[[exp.Func], bool]
) -> tuple[dict[str, exp.Expr], list[Set] | None]:
    """What is grouped by, by its text; the sets, if there are several."""
    if group is None:
        return {}, None
    if any(group.args.get(part) for part in ("grouping_sets", "cube", "rollup", "totals")):
        raise Unplanned
    if group.args.get("all"):
        plain = [each for each in wanted.outputs if not any(map(is_aggregate, each.find_all(exp.Func)))]
        return {sql_of(each): each for each in plain}, None
    if has_sets(group):
        return list_sets(group)
    if any(isinstance(key, exp.Literal) for key in group.expressions):
        raise Unplanned
    keys = [flatten(key) for key in group.expressions]
    return {sql_of(key): key for key in keys}, None


def _name_parts(tree: exp.Expr, known: dict[str, str]) -> exp.Expr:
    """Keys and aggregates become columns, the largest first."""

    def rename(node: exp.Expr) -> exp.Expr:
        name = known.get(sql_of(node)) if not isinstance(node, exp.Identifier) else None
        return node if name is None else exp.column(name, quoted=True)

    return tree.copy().transform(rename)


def _check_named(named: Grouped, names: tuple[str, ...]) -> None:
    """Nothing but keys and aggregates may be read: else SQL has to say what it means."""
    if any(each.name not in names for tree in named.all() for each in tree.find_all(exp.Column)):
        raise Unplanned


@dataclass
class _Grouping:
    """columns: what a row has to tell its group; calls: aggregates as SQL, where one of them is not known."""

    columns: list[tuple[str, str]]
    aggregates: list[GroupAggregate] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    known: bool = True

    def add(self, call: exp.Expr, name: str) -> str:
        self.calls.append((name, sql_of(call)))
        condition = call.expression.this if isinstance(call, exp.Filter) else None
        function = call.this if isinstance(call, exp.Filter) else call
        kind = _KNOWN.get(type(function))
        argument = function.this if kind is not None else None
        distinct = isinstance(argument, exp.Distinct)
        if isinstance(argument, exp.Distinct):
            argument = argument.expressions[0] if len(argument.expressions) == 1 else None
        extra = [value for part, value in function.args.items() if value and part not in ("this", "big_int")]
        if kind is None or extra or isinstance(argument, exp.Order | exp.Limit) or (distinct and argument is None):
            self.known = False
            return name
        if kind == "count_if":
            assert argument is not None, "count_if is of a condition"
            test = argument if condition is None else exp.and_(argument.copy(), condition.copy())
            kind, argument, condition = "count", exp.Star(), test
        counted = kind == "count" and (argument is None or isinstance(argument, exp.Star))
        self.aggregates.append(
            GroupAggregate(
                name,
                "count_rows" if counted else kind,
                None if counted or argument is None else self._add_column("_a", sql_of(argument)),
                None if condition is None else self._add_column("_f", f"coalesce({sql_of(condition)}, FALSE)"),
                distinct and kind not in ("min", "max"),
            )
        )
        return name

    def _add_column(self, prefix: str, sql: str) -> str:
        known = next((name for name, text in self.columns if text == sql), None)
        if known is not None:
            return known
        name = f"{prefix}.{len(self.columns)}"
        self.columns.append((name, sql))
        return name

    def add_sets(
        self,
        steps: Steps,
        rows: Rows,
        keys: Columns,
        sets: list[tuple[Columns, list[tuple[str, str]]]],
    ) -> Rows:
        """A grouping for each set of keys, and the values of GROUPING there; what is left out is null."""
        if not self.known:
            raise Unplanned
        never = self._add_column("_f", "FALSE")
        source = steps.add(MapStep(rows.step, tuple(self.columns)), [name for name, _ in self.columns])
        parts: list[Rows] = []
        names: Columns = ()
        for number, (chosen, values) in enumerate(sets):
            nulls = tuple(GroupAggregate(key, "min", key, never) for key in keys if key not in chosen)
            made = steps.add(GroupStep(source.step, chosen, (*self.aggregates, *nulls)), ())
            plain = [(name, column(name)) for name in (*keys, *(each.name for each in self.aggregates))]
            outputs = (*plain, *values, (_SET, str(number)))
            names = tuple(name for name, _ in outputs)
            parts.append(steps.add(MapStep(made.step, outputs), names))
        return steps.add(UnionStep(tuple(part.step for part in parts), names), names, (*keys, _SET))

    def add_to(self, steps: Steps, rows: Rows, keys: Columns) -> Rows:
        names = (*keys, *(name for name, _ in self.calls))
        if self.known:
            self._add_column("_one", "1")  # rows without columns cannot be counted
            source = steps.add(MapStep(rows.step, tuple(self.columns)), [name for name, _ in self.columns])
            return steps.add(GroupStep(source.step, keys, tuple(self.aggregates)), names, keys)
        added = tuple((name, sql) for name, sql in self.columns if name in keys)
        outputs = (*((name, column(name)) for name in rows.columns), *added)
        source = steps.add(MapStep(rows.step, outputs), [name for name, _ in outputs])
        chosen = ", ".join([*map(column, keys), *(f"{sql} AS {column(name)}" for name, sql in self.calls)])
        by = f" GROUP BY {', '.join(map(column, keys))}" if keys else ""
        step = KeyedStep((source.step,), (keys,), f"SELECT {chosen} FROM _0{by}", row_keys=keys)
        return steps.add(step, names, keys)
