"""Aggregates over the rows of matches that the kernel leaves to others (HostAggregate): one Arrow array of answers.

    array_agg(CLASSIFIER())         the values of each row of each match, then the code of every other aggregate
    map_agg(b.k, CLASSIFIER())      DuckDB, over a table of (stretch, row, values)
    my_mean(b.x)                    Python, the user's own

In MEASURES the stretches are those of the rows of output, in DEFINE those of the matches under way.  DuckDB is the
evaluator on both hosts, so that there is one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.execution.event_log import EventLog
from cepheid.execution.measured_aggregates import Stretches, aggregate_values, choose_events, expand, plain_array
from cepheid.kernel.aggregates.catalog import AGGREGATES
from cepheid.kernel.columns import Int64s
from cepheid.kernel.expression import Aggregate, HostAggregate, RowValue
from cepheid.kernel.matches import WHOLE, Matches
from cepheid.scalars.value import Column

CATALOG = frozenset(definition.name for definition in AGGREGATES) - {"python"}


def write_row_aggregate(aggregate: HostAggregate, rows: Stretches, matches: Matches, log: EventLog) -> pa.Array:
    """A value for each stretch; equal stretches (FINAL) are computed once."""
    pairs, back = np.unique(np.stack([rows.begins, rows.ends]), axis=1, return_inverse=True)
    seen = Stretches(np.ascontiguousarray(pairs[0]), np.ascontiguousarray(pairs[1]))
    found = _aggregate(aggregate, seen, matches, log)
    return _fit(found, aggregate.type).take(pa.array(back.reshape(-1)))


def _aggregate(aggregate: HostAggregate, rows: Stretches, matches: Matches, log: EventLog) -> pa.Array:
    values = _compute_values(aggregate.read_values(), matches, log)
    chosen = choose_events(aggregate.variables, matches)
    if aggregate.condition is not None:
        chosen &= values.pop().fill_null(False).to_numpy(zero_copy_only=False)
    if aggregate.python is not None:
        return _run_python(aggregate, values[0], chosen, rows)
    if aggregate.function in CATALOG and not aggregate.order:
        names = [f"_a{number}" for number in range(len(values))]
        column, by = (*names, None, None)[:2]
        wanted = Aggregate(aggregate.function, column, by=by, distinct=aggregate.distinct)
        return aggregate_values(wanted, chosen, rows, matches, dict(zip(names, values, strict=True)))
    return _ask_duckdb(aggregate, values, chosen, rows)


def _compute_values(values: list[RowValue], matches: Matches, log: EventLog) -> list[pa.Array]:
    """Each value for every event of every match."""
    columns = {name: plain_array(log.take(name, matches.events)) for value in values for name in value.columns}
    columns["_classifier"] = pa.array(matches.variables, pa.string()).take(pa.array(matches.labels))
    which = np.repeat(np.arange(len(matches)), matches.ends - matches.begins)
    unnumbered = None if matches.fates is None else (matches.fates != WHOLE)[which]
    columns["_match_number"] = pa.array(matches.numbers[which], mask=unnumbered)
    computed = [value.value for value in values if not isinstance(value.value, Column)]
    if computed:
        asked = ", ".join(f"{write_duckdb(value)} AS _v{number}" for number, value in enumerate(computed))
        found = run_duckdb(f"SELECT {asked} FROM _input", {"_input": pa.table(columns)})
        columns |= {f"_v{number}": plain_array(found.column(number)) for number in range(len(computed))}
    names = iter(f"_v{number}" for number in range(len(computed)))
    return [columns[value.value.name if isinstance(value.value, Column) else next(names)] for value in values]


def _fit(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    array = plain_array(found)
    return array if array.type == wanted else array.cast(wanted)


# --- functions of users ----------------------------------------------------------------------------------


def _run_python(aggregate: HostAggregate, values: pa.Array, chosen: npt.NDArray[np.bool_], rows: Stretches) -> pa.Array:
    """From the first row of each match on; stretches that begin alike go on from one another: their ends ascend."""
    function = aggregate.python
    assert function is not None, "a function in Python"
    given = values.to_pylist()
    found: list[object] = []
    state, begin, at = function.init(), -1, -1
    for row_begin, row_end in zip(rows.begins.tolist(), rows.ends.tolist(), strict=True):
        if row_begin != begin:
            state, begin, at = function.init(), row_begin, row_begin
        for place in range(at, row_end):
            if chosen[place] and given[place] is not None:
                state = function.add(state, given[place])
        at = row_end
        taken = chosen[row_begin:row_end]
        is_empty = not any(taken) or all(given[place] is None for place in range(row_begin, row_end) if chosen[place])
        found.append(None if is_empty else function.result(state))
    return pa.array(found, aggregate.type)


# --- DuckDB ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """What is written for DuckDB: names of the columns, ORDER BY with the order of the rows behind it, the literals."""

    columns: tuple[str, ...]
    order: str
    parameters: tuple[str, ...]
    distinct: str

    @property
    def of(self) -> str:
        return self.columns[0]


def _plain(call: str, where: str = "true") -> str:
    return f"SELECT _row, {call} AS x FROM _rows WHERE {where} GROUP BY _row"


def _map_of(value: Callable[[_Call], str]) -> Callable[[_Call], str]:
    """A map with a value for each key that is not null, in the order in which keys come first."""

    def write(call: _Call) -> str:
        inner = f"SELECT _row, {call.of} AS k, {value(call)} AS v, min(_place) AS p FROM _rows"
        inner += f" WHERE {call.of} IS NOT NULL GROUP BY _row, k"
        return f"SELECT _row, map(list(k ORDER BY p), list(v ORDER BY p)) AS x FROM ({inner}) GROUP BY _row"

    return write


def _unite_maps(call: _Call) -> str:
    entries = f"SELECT _row, _place, unnest(map_entries({call.of})) AS e FROM _rows WHERE {call.of} IS NOT NULL"
    firsts = f"SELECT _row, e.key AS k, first(e.value ORDER BY _place) AS v, min(_place) AS p FROM ({entries})"
    return (
        f"SELECT _row, map(list(k ORDER BY p), list(v ORDER BY p)) AS x FROM ({firsts} GROUP BY _row, k) GROUP BY _row"
    )


def _set_of(call: _Call) -> str:
    inner = f"SELECT _row, {call.of} AS k, min(_place) AS p FROM _rows WHERE {call.of} IS NOT NULL GROUP BY _row, k"
    return f"SELECT _row, list(k ORDER BY p) AS x FROM ({inner}) GROUP BY _row"


def _choose_n(direction: str, by: int) -> Callable[[_Call], str]:
    """The first n in the order of a column; of equals the earlier rows."""

    def write(call: _Call) -> str:
        ordered = f"list({call.of} ORDER BY {call.columns[by]} {direction}, _place)"
        return _plain(f"list_slice({ordered}, 1, {call.parameters[0]})", f"{call.columns[by]} IS NOT NULL")

    return write


def _join_texts(call: _Call) -> str:
    separator = call.parameters[0] if call.parameters else "''"
    order = f"ORDER BY {call.of}" if call.distinct else call.order
    return _plain(f"string_agg({call.distinct}{call.of}, {separator} {order})")


def _call_by_name(name: str) -> Callable[[_Call], str]:
    """As DuckDB calls it: of numbers as doubles."""
    return lambda call: _plain(f"{name}({', '.join(f'CAST({column} AS DOUBLE)' for column in call.columns)})")


FUNCTIONS: dict[str, Callable[[_Call], str]] = {
    "any_value": lambda call: _plain(f"first({call.of} {call.order})", f"{call.of} IS NOT NULL"),
    "first_row": lambda call: _plain(f"first({call.of} {call.order})"),
    "map_agg": _map_of(lambda call: f"first({call.columns[1]} {call.order})"),
    "multimap_agg": _map_of(lambda call: f"list({call.columns[1]} {call.order})"),
    "histogram": _map_of(lambda _: "count(*)"),
    "map_union": _unite_maps,
    "set_agg": _set_of,
    "min_n": _choose_n("ASC", 0),
    "max_n": _choose_n("DESC", 0),
    "min_by_n": _choose_n("ASC", 1),
    "max_by_n": _choose_n("DESC", 1),
    "string_agg": _join_texts,
    "bit_and": lambda call: _plain(f"bit_and({call.of})"),
    "bit_or": lambda call: _plain(f"bit_or({call.of})"),
    "bit_xor": lambda call: _plain(f"bit_xor({call.of})"),
    "geometric_mean": lambda call: _plain(f"exp(avg(ln(CAST({call.of} AS DOUBLE))))"),
    "entropy": lambda call: _plain(
        f"log2(sum({call.of})::DOUBLE) - sum({call.of} * log2({call.of}::DOUBLE)) / sum({call.of})", f"{call.of} > 0"
    ),
    "approx_distinct": lambda call: _plain(f"count(DISTINCT {call.of})"),
    "approx_percentile": lambda call: _plain(f"quantile_disc({call.of}, {call.parameters[0]})"),
    "median": _call_by_name("median"),
    **{name: _call_by_name(name) for name in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept")},
    "array_agg": lambda call: _plain(f"list({call.of} {call.order})"),
}
OF_NONE: dict[str, int] = {"approx_distinct": 0, "count": 0}


def _ask_duckdb(
    aggregate: HostAggregate, values: list[pa.Array], chosen: npt.NDArray[np.bool_], rows: Stretches
) -> pa.Array:
    which, flat = expand(chosen, rows)
    count = len(aggregate.arguments)
    table = {"_row": pa.array(which), "_place": pa.array(flat)}
    table |= {f"_a{number}": column.take(pa.array(flat)) for number, column in enumerate(values)}
    terms = [
        f"_a{count + number} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
        for number, (_, descending, nulls_first) in enumerate(aggregate.order)
    ]
    call = _Call(
        tuple(f"_a{number}" for number in range(count)),
        f"ORDER BY {', '.join([*terms, '_place'])}",
        aggregate.parameters,
        "DISTINCT " if aggregate.distinct else "",
    )
    found = run_duckdb(FUNCTIONS[aggregate.function](call), {"_rows": pa.table(table)})
    place: Int64s = np.full(len(rows.begins), -1, dtype=np.int64)
    place[found.column("_row").to_numpy()] = np.arange(len(found))
    answers = plain_array(found.column("x")).take(pa.array(place, mask=place < 0))
    of_none = OF_NONE.get(aggregate.function)
    return answers if of_none is None else pc.fill_null(answers, of_none)
