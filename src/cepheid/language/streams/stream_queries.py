"""Queries over streams that have no window of their own: under one another, in order of time, with OVER.

Over whole tables these are left to the host.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.event_time import is_event_time
from cepheid.graph.operators import Filter, Project, Relation, Union, WindowAggregate
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.window import Evaluation, Window, WindowProgram
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import without_joins
from cepheid.language.relations.output_names import name_outputs
from cepheid.language.relations.simple_select import find_items, is_plain_item, split_select
from cepheid.language.streams.bind_over import bind_over, find_overs, group_overs
from cepheid.language.streams.bind_over_rows import bind_over_rows, picks_rows
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_layout import StreamLayout
from cepheid.scalars.value import Column
from cepheid.schema import unify_schemas

OVER_PARTS = {"expressions", "from_", "where", "with_", "windows", "kind"}  # of a SELECT that is no more than its OVER


def add_union(binder: QueryBinder, query: exp.Expr, timed: bool) -> BoundTable | None:
    """UNION ALL of streams; None if it is something else."""
    if isinstance(query, exp.Subquery) and not any(value for part, value in query.args.items() if part != "this"):
        return add_union(binder, query.this, timed)
    if not isinstance(query, exp.Union) or query.args.get("distinct") or _has_modifiers(query):
        return None
    written = (query.left.unnest(), query.right.unnest())
    for each in written:
        name_outputs(each)
    sides = [binder.add_query(each, timed) for each in written]
    if query.args.get("by_name"):
        sides[1] = _pair_by_name(binder, sides, query)
    given = {f"_side{number}": side.schema for number, side in enumerate(sides)}
    try:
        schema = binder.describe("SELECT * FROM _side0 UNION ALL SELECT * FROM _side1", given)
    except InvalidQuery as problem:
        hint = "select as many columns on both sides, of the same types"
        raise InvalidQuery(problem.message, span=span_of(query.right), hint=hint) from None
    _check_types(sides, schema.names, query)
    feeds = []
    for side in sides:
        pairs = zip(schema.names, side.schema.names, strict=True)
        columns = tuple((name, Column(own)) for name, own in pairs)
        same = schema.names == side.schema.names
        feeds.append(side.vertex if same else binder.add(Project(columns=columns), side.vertex))
    return BoundTable(binder.add(Union(columns=tuple(schema.names)), *feeds), schema, "the query")


def _pair_by_name(binder: QueryBinder, sides: list[BoundTable], query: exp.Union) -> BoundTable:
    """UNION ALL BY NAME: the second side, in the order of the columns of the first."""
    first, second = sides
    own = {name.lower(): name for name in second.schema.names}
    if set(own) != {name.lower() for name in first.schema.names}:
        hint = "select the same columns on both sides"
        raise NotSupportedYet("UNION ALL BY NAME of other columns", span=span_of(query.right), hint=hint)
    names = [own[name.lower()] for name in first.schema.names]
    columns = tuple((name, Column(name)) for name in names)
    schema = pa.schema([second.schema.field(name) for name in names])
    return replace(second, vertex=binder.add(Project(columns=columns), second.vertex), schema=schema)


def _check_types(sides: list[BoundTable], names: list[str], query: exp.Union) -> None:
    """Rows of streams are put under one another as they are: a text is not made of a number on the way."""
    for name, *types in zip(names, *(side.schema.types for side in sides), strict=True):
        try:
            unify_schemas([pa.schema([(name, each)]) for each in types])
        except pa.ArrowTypeError:
            told = " and ".join(map(str, types))
            raise TypeMismatch(
                f'column "{name}" of UNION ALL is of the types {told}',
                span=span_of(query.right),
                hint="cast one side to the type of the other",
            ) from None


def add_sorted(binder: QueryBinder, query: exp.Expr, timed: bool) -> BoundTable | None:
    """A query over streams with ORDER BY event time at its end: rows wait until no earlier one can come."""
    if not isinstance(query, exp.Select | exp.Union) or not query.args.get("order"):
        return None
    if isinstance(query, exp.Select) and any(item.name in binder.windows for item in find_items(query)):
        return None
    terms = query.args["order"].expressions
    term = terms[0].this if isinstance(terms[0], exp.Ordered) else terms[0]
    if any(query.args.get(part) for part in ("limit", "offset")) or len(terms) > 1:
        return None
    bare, graph = query.copy(), binder.graph
    bare.set("order", None)
    binder.roots.append((bare, binder.around(query)))
    table = binder.add_query(bare, timed)
    below = binder.graph.reach(table.vertex, binder.graph.inputs)
    if isinstance(query, exp.Select) and any(isinstance(binder.graph.vertices[each], Relation) for each in below):
        binder.graph = graph
        return None  # its rows may always change
    descending = isinstance(terms[0], exp.Ordered) and terms[0].args.get("desc")
    layout = StreamLayout(table.label, "", table.schema, binder.describe)
    named = isinstance(term, exp.Column) and layout.find_name(term.name)
    if descending or not named or not is_event_time(table.schema.field(named).type):
        raise NotSupportedYet(
            "a stream sorted by something else than event time",
            span=span_of(terms[0]),
            hint="a stream has no end: sort the rows of a window, [RANGE 1 MINUTE SLIDE 1 MINUTE] ... ORDER BY x",
        )
    layout.put("_time", exp.column(named, quoted=True))
    cells = [
        WindowCell(name=name, kind="row", column=layout.read(exp.column(name, quoted=True))[0])
        for name in table.schema.names
    ]
    program = WindowProgram(window=Window(kind="count", size=1), evaluation=Evaluation(when="event"), members=True)
    node = WindowAggregate(program=program, cells=tuple(cells), keys=0)
    return replace(table, vertex=binder.add(node, binder.add(layout.project(), table.vertex)))


def add_overs(binder: QueryBinder, query: exp.Expr) -> BoundTable | None:
    """A SELECT from a stream with OVER: each window adds its columns, then the SELECT reads them."""
    if not isinstance(query, exp.Select) or len(items := list(find_items(query))) != 1:
        return None
    calls, item = find_overs(query), items[0]
    if not calls or item.name in binder.windows or not is_plain_item(item):
        return None
    around = {part for part, value in query.args.items() if value} - OVER_PARTS
    if around:
        return _add_around_overs(binder, query) if around <= {"distinct", "limit", "offset"} else None
    bare = query.copy()
    calls = find_overs(bare)
    binder.roots.append((bare, binder.around(query)))
    (own,) = find_items(bare)
    graph = binder.graph
    table = binder.find_item(without_joins(own))
    below = binder.graph.reach(table.vertex, binder.graph.inputs)
    if any(isinstance(binder.graph.vertices[each], Relation) for each in below):
        binder.graph = graph
        return None  # its rows may always change
    name, where = own.alias_or_name, bare.args.get("where")
    vertex, schema = table.vertex, table.schema
    if where is not None:
        layout = StreamLayout(table.label, name, schema, binder.describe)
        vertex = binder.add(Filter(predicate=layout.value(where.this)), vertex)
    visible = list(schema.names)
    for over in group_overs(bare, calls):
        bind = bind_over_rows if picks_rows(over.calls[0], over.written) else bind_over
        layout_node, node, schema = bind(over, table.label, name, schema, binder.describe)
        vertex = binder.add(node, binder.add(layout_node, vertex))
        for call, answer in zip(over.calls, over.answers, strict=True):
            _put_in_place(call, answer, bare)
    for part in ("where", "windows"):
        bare.set(part, None)
    if any(item.is_star for item in bare.expressions):
        outputs = [
            column
            for item in bare.expressions
            for column in ([exp.column(each, quoted=True) for each in visible] if item.is_star else [item])
        ]
        bare.set("expressions", outputs)
    with_columns = BoundTable(vertex, schema, table.label)
    simple = split_select(bare, without_joins(own), schema)
    if simple is None:
        raise NotSupportedYet(
            "this SELECT beside OVER on a stream", span=span_of(query), hint="put the windows into a subquery"
        )
    return binder.add_simple(simple, bare, with_columns)


def _add_around_overs(binder: QueryBinder, query: exp.Select) -> BoundTable:
    """DISTINCT and LIMIT come after OVER: they are of a query around it."""
    inner = query.copy()
    outer = exp.select("*")
    for part in ("distinct", "limit", "offset", "with_"):
        outer.set(part, inner.args.get(part))
        inner.set(part, None)
    outer = outer.from_(inner.subquery("_rows", copy=False), copy=False)
    binder.roots.append((outer, binder.around(query)))
    return binder.add_query(outer)


def _has_modifiers(query: exp.Union) -> bool:
    return any(
        value
        for part, value in query.args.items()
        if part not in ("this", "expression", "distinct", "with_", "by_name")
    )


def _put_in_place(call: exp.Window, answer: exp.Expr, select: exp.Select) -> None:
    """Read a column instead of what stands with OVER; an output keeps the name that it would have."""
    if call.parent is select:
        number = next(number for number, item in enumerate(select.expressions) if item is call)
        call.replace(exp.alias_(answer, f"_col{number}", quoted=True))
    else:
        call.replace(answer)
