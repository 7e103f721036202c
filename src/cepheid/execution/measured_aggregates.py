"""Aggregates in MEASURES: one Arrow column, a value for each row of output.

Each aggregate runs once along its match, by the code of windows; a row takes the value after its last event (running)
or after the match's last one (final).  Types that the kernel cannot compute with (decimals, structs, ...) go through
Arrow's group_by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.errors import MatchFailure
from cepheid.execution.event_log import EventLog
from cepheid.execution.kernel_arrays import write_column
from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.columns import Column, Int64s, Interner, as_cells, kind_of, read_column
from cepheid.kernel.expression import Aggregate, Kind
from cepheid.kernel.matches import Matches
from cepheid.kernel.window import WindowedAggregate

PLACE = "_place"  # the number of an event among those of all matches
ARROW_NAMES = {"avg": "mean", "stddev_samp": "stddev", "stddev_pop": "stddev", "var_samp": "variance",
               "var_pop": "variance"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stretches:
    """For each row of output the events of its match that it sees: begins[r]:ends[r] of the flat events."""

    begins: Int64s
    ends: Int64s


def write_aggregate(aggregate: Aggregate, rows: Stretches, matches: Matches, log: EventLog) -> pa.Array:
    if aggregate.column is None and not aggregate.variables:
        return pa.array(rows.ends - rows.begins)
    read = [column for column in (aggregate.column, aggregate.by) if column is not None]
    measured = {column: plain_array(log.take(column, matches.events)) for column in read}
    return aggregate_values(aggregate, choose_events(aggregate.variables, matches), rows, matches, measured)


def aggregate_values(
    aggregate: Aggregate,
    chosen: npt.NDArray[np.bool_],
    rows: Stretches,
    matches: Matches,
    measured: dict[str, pa.Array],
) -> pa.Array:
    """Of values that are known for every event of every match, by name, where they are chosen."""
    if aggregate.column is None:
        return _run(aggregate, chosen, rows, matches, {})
    values = measured[aggregate.column]
    if aggregate.function == "array_agg":
        return _collect(aggregate, chosen, rows, matches, values)
    if all(kind_of(column.type) is not None for column in measured.values()):
        return _run(aggregate, chosen, rows, matches, measured)
    if aggregate.function == "count" and not aggregate.distinct:
        known = chosen & pc.is_valid(values).to_numpy(zero_copy_only=False)
        return _run(Aggregate("count", None), known, rows, matches, {})
    return _group(aggregate, chosen, rows, matches, measured)


def plain_array(values: pa.ChunkedArray) -> pa.Array:
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], type=array.type)
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def choose_events(variables: tuple[str, ...], matches: Matches) -> npt.NDArray[np.bool_]:
    """Which events of matches are bound to one of the variables; all if there are none."""
    if not variables:
        return np.ones(len(matches.events), dtype=np.bool_)
    return np.isin(matches.labels, [matches.variables.index(variable) for variable in variables])


def _run(
    aggregate: Aggregate,
    chosen: npt.NDArray[np.bool_],
    rows: Stretches,
    matches: Matches,
    measured: dict[str, pa.Array],
) -> pa.Array:
    """The kernel computes it, once for each event that is the last one some row sees."""
    interner = Interner()
    columns = {name: read_column(pa.chunked_array([values]), interner) for name, values in measured.items()}
    if aggregate.distinct and aggregate.column is not None:
        chosen = _first_of_equals(chosen, columns[aggregate.column], matches)
    is_empty = rows.ends <= rows.begins
    last = np.where(is_empty, 0, rows.ends - 1)
    asked = np.zeros(len(chosen), dtype=np.uint8)
    asked[last[~is_empty]] = 1
    wanted = _with_kinds(aggregate, {name: kind_of(values.type) for name, values in measured.items()})
    definition = find_aggregate(aggregate.function)
    is_chosen = definition.gives == "value" and aggregate.column is not None
    if is_chosen:  # which event it is, so that the value keeps its type to the last digit
        columns[PLACE] = Column(np.arange(len(chosen)))
        wanted = replace(
            wanted, function="max_by" if aggregate.function.startswith("max") else "min_by", column=PLACE,
            column_kind="int", kind="int", by=aggregate.by or aggregate.column,
            by_kind=wanted.by_kind if aggregate.by else wanted.column_kind,
        )  # fmt: skip
    from cepheid.kernel.compiled.match_aggregates import aggregate_matches  # many kernels, for few queries

    answers = aggregate_matches(wanted, chosen.astype(np.uint8), asked, matches, columns, interner)
    assert isinstance(answers, Column), "lists are collected elsewhere"
    found = np.cumsum(asked, dtype=np.int64)[last] - 1 if len(asked) else last
    missing = is_empty | (found < 0)
    if answers.valid is not None and len(answers.values):
        missing |= answers.valid[np.where(missing, 0, found)] == 0
    values = answers.values[np.where(missing, 0, found)] if len(answers.values) else np.zeros(len(found))
    if definition.of_none is not None:
        return pa.array(np.where(missing, definition.of_none, values).astype(np.int64))
    if is_chosen:
        return _take_values(measured[aggregate.column or ""], values.astype(np.int64), missing, aggregate)
    arrow_type = definition.type_of_answer(measured[aggregate.column or ""].type)
    return write_column(Column(values, (~missing).view(np.uint8)), arrow_type, interner)


def _take_values(values: pa.Array, places: Int64s, missing: npt.NDArray[np.bool_], aggregate: Aggregate) -> pa.Array:
    taken = values.take(pa.array(places, mask=missing))
    if aggregate.by is None and pa.types.is_floating(taken.type):
        return pc.add(taken, pa.scalar(0.0, taken.type))  # a zero has no sign, as in windows
    return taken


def _with_kinds(aggregate: Aggregate, kinds: dict[str, Kind | None]) -> WindowedAggregate:
    kind = kinds.get(aggregate.column or "")
    return WindowedAggregate(
        function=aggregate.function,
        column=aggregate.column,
        column_kind=kind,
        kind="int" if kind is None else find_aggregate(aggregate.function).kind_of_answer(kind),
        by=aggregate.by,
        by_kind=kinds.get(aggregate.by or ""),
    )


def _first_of_equals(chosen: npt.NDArray[np.bool_], column: Column, matches: Matches) -> npt.NDArray[np.bool_]:
    """Of the chosen events of a match with one value, the first; null is a value here."""
    places = np.nonzero(chosen)[0]
    match_of = np.repeat(np.arange(len(matches)), matches.ends - matches.begins)[places]
    cells = as_cells(column)[places]
    known = np.ones(len(places), dtype=np.uint8) if column.valid is None else column.valid[places]
    cells = np.where(known != 0, cells, 0)
    order = np.lexsort((places, known, cells, match_of))
    repeats = np.ones(len(order), dtype=np.bool_)
    for values in (match_of[order], cells[order], known[order]):
        repeats[1:] &= values[1:] == values[:-1]
    repeats[:1] = False
    found = np.zeros(len(chosen), dtype=np.bool_)
    found[places[order[~repeats]]] = True
    return found


def expand(chosen: npt.NDArray[np.bool_], rows: Stretches) -> tuple[Int64s, Int64s]:
    """Every (row, flat event) pair that an aggregate takes in."""
    counts = rows.ends - rows.begins
    which = np.repeat(np.arange(len(counts)), counts)
    flat = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(rows.begins, counts)
    taken = chosen[flat] if len(flat) else np.zeros(0, dtype=np.bool_)
    return which[taken], flat[taken]


def _collect(
    aggregate: Aggregate, chosen: npt.NDArray[np.bool_], rows: Stretches, matches: Matches, values: pa.Array
) -> pa.Array:
    """array_agg: lists, null where there are no events."""
    if aggregate.distinct:
        if kind_of(values.type) is None:
            codes = values.dictionary_encode().indices
            column = read_column(pa.chunked_array([codes]), Interner())
        else:
            column = read_column(pa.chunked_array([values]), Interner())
        chosen = _first_of_equals(chosen, column, matches)
    which, flat = expand(chosen, rows)
    lengths = np.bincount(which, minlength=len(rows.begins))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, values.take(pa.array(flat)), mask=pa.array(lengths == 0))


def _group(
    aggregate: Aggregate,
    chosen: npt.NDArray[np.bool_],
    rows: Stretches,
    matches: Matches,
    measured: dict[str, pa.Array],
) -> pa.Array:
    """Types that only Arrow computes with; a running aggregate looks at every row's events anew."""
    assert aggregate.column is not None, "Arrow aggregates columns"
    values = measured[aggregate.column]
    if aggregate.distinct:
        codes = read_column(pa.chunked_array([values.dictionary_encode().indices]), Interner())
        chosen = _first_of_equals(chosen, codes, matches)
    which, flat = expand(chosen, rows)
    if aggregate.by is not None:
        return _pick_by(aggregate, which, flat, len(rows.begins), measured)
    name = ARROW_NAMES.get(aggregate.function, aggregate.function)
    ddof = 1 if aggregate.function.endswith("_samp") else 0
    options = pc.VarianceOptions(ddof=ddof) if name in ("stddev", "variance") else None
    taken = values.take(pa.array(flat))
    if options is not None:
        taken = taken.cast(pa.float64())
    of_decimals = name in ("sum", "mean") and pa.types.is_decimal(taken.type)
    if of_decimals:
        taken = taken.cast(pa.decimal256(76, taken.type.scale))  # Arrow's own sums of 38 digits wrap around
    grouped = pa.table({"row": which, "value": taken}).group_by("row", use_threads=False)
    if of_decimals and name == "mean":  # Arrow's own has no more digits than the values
        found = grouped.aggregate([("value", "sum"), ("value", "count")])
        sums = found.column("value_sum").cast(pa.string()).cast(pa.float64())  # text is rounded once, decimals are not
        mean = pc.divide(sums, found.column("value_count").cast(pa.float64()))
        found = found.append_column("value_mean", mean)
    else:
        found = grouped.aggregate([("value", name, options) if options is not None else ("value", name)])
    place = np.full(len(rows.begins), -1, dtype=np.int64)
    place[found.column("row").to_numpy()] = np.arange(len(found))
    result = found.column(f"value_{name}").take(pa.array(place, mask=place < 0))
    if of_decimals and name == "sum":
        result = _narrow_sums(result, find_aggregate("sum").type_of_answer(values.type))
    return result.fill_null(0) if aggregate.function == "count" else result


def _narrow_sums(sums: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    try:
        return sums.cast(wanted)
    except pa.ArrowInvalid:
        told = f"a sum of decimals does not fit {wanted.precision} digits"
        raise MatchFailure(told, hint="cast the column to DOUBLE, or to a decimal of fewer digits") from None


def _pick_by(aggregate: Aggregate, which: Int64s, flat: Int64s, count: int, measured: dict[str, pa.Array]) -> pa.Array:
    """min_by and max_by: sort by row, then by the measure, earlier events first; take the first of each row."""
    assert aggregate.by is not None, "the second argument"
    assert aggregate.column is not None, "the first argument"
    by = measured[aggregate.by].take(pa.array(flat))
    known = pc.is_valid(by).to_numpy(zero_copy_only=False)
    which, flat, by = which[known], flat[known], by.filter(pa.array(known))
    order = "ascending" if aggregate.function == "min_by" else "descending"
    table = pa.table({"row": which, "by": by, "flat": flat})
    places = pc.sort_indices(table, sort_keys=[("row", "ascending"), ("by", order), ("flat", "ascending")]).to_numpy()
    rows, first = np.unique(which[places], return_index=True)
    best = np.full(count, -1, dtype=np.int64)
    best[rows] = flat[places][first]
    return measured[aggregate.column].take(pa.array(best, mask=best < 0))
