"""Compile every kernel once, or load it from Numba's cache, before time matters."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Column, Events, Int64s, Interner
from cepheid.kernel.compiled.join import CompiledJoin
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.key_owners import warm_up_key_owners
from cepheid.kernel.compiled.match_aggregates import aggregate_matches
from cepheid.kernel.compiled.positions import navigate_matches, tabulate_positions
from cepheid.kernel.compiled.row_ids import warm_up_row_ids
from cepheid.kernel.compiled.row_index import warm_up_row_index
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.compiled.window_aggregates.warm_up import compile_aggregates
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.expression import Aggregate, Call, Cell, Constant, Expression, Position
from cepheid.kernel.join import JoinEvents, JoinInput, JoinProgram
from cepheid.kernel.pattern import Absent, Concatenation, RowPatternProgram, SequenceProgram, Step, Term
from cepheid.kernel.sequence_flow import Bar, Flow, Place, Way
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowEvents, WindowProgram


def compile_kernels() -> None:
    """Run each operator over two events: the kernels are generic, so that is all of them."""
    times = np.arange(2, dtype=np.int64)
    keys, _ = KeyIndex(1).number_rows([Column(np.zeros(2, dtype=np.int64))], 2)
    from_arrow = np.zeros(2, dtype=np.int64)
    from_arrow.flags.writeable = False  # a type of its own to Numba
    KeyIndex(1).number_rows([Column(from_arrow)], 2)
    KeyIndex(2).number_rows([Column(from_arrow), Column(from_arrow)], 2)
    KeyIndex(3).number_rows([Column(from_arrow), Column(from_arrow), Column(from_arrow)], 2)
    events = Events(times, keys, {"x": Column(np.arange(2.0))}, None)
    later = Call("lt", (Cell("x", "float", Position(("a",))), Cell("x", "float", Position(("b",)))), "bool")
    rows = CompiledRowPattern(RowPatternProgram(Concatenation((Term("a"), Term("b"))), (("b", later),)), Interner())
    found = rows.step(events, 0, final=True)
    rows.live()
    CompiledRowPattern(RowPatternProgram(Term("a"), ()), Interner()).replay(
        Events(times, keys), np.zeros(2, dtype=np.bool_), np.zeros(2, dtype=np.bool_), np.zeros(1, dtype=np.int64)
    )
    measure = WindowedAggregate(function="sum", column="x", column_kind="float", kind="float")
    flags = np.ones(len(found.events), dtype=np.uint8)
    aggregate_matches(measure, flags, flags, found, {"x": Column(np.zeros(len(flags)))}, Interner())
    navigate_matches(tabulate_positions([Position()], found.variables), 0, found.labels, found.begins, found.ends)
    warm_up_sequences(events, later)
    warm_up_row_index()
    warm_up_row_ids()
    warm_up_key_owners()
    compile_aggregates()
    warm_up_windows(times, keys)
    warm_up_joins(times, keys)


def warm_up_windows(times: Int64s, keys: Int64s) -> None:
    """Each policy of which event is when in which window, and what snapshots of them need."""
    average = WindowedAggregate(function="avg", column="x", column_kind="float", kind="float")
    tick = Evaluation(when="time", every=1)
    programs = (
        WindowProgram(window=Window(kind="count", size=1), evaluation=Evaluation(when="event"), aggregates=(average,)),
        WindowProgram(window=Window(kind="time", size=2), evaluation=tick, aggregates=(average,)),
        WindowProgram(window=Window(kind="time", size=1, slide=1), evaluation=Evaluation(when="close"), members=True),
    )
    events = WindowEvents(times, keys, (keys,) * len(programs), {"x": Column(np.arange(2.0))})
    operator = CompiledWindows(programs, Interner())
    operator.step(events, 1)
    kept, state = operator.needed(1), operator.keep(1)
    again = CompiledWindows(programs, Interner())
    numbers = np.arange(1, dtype=np.int64)
    needed = WindowEvents(times[kept], keys[kept], (keys[kept],) * len(programs), {"x": Column(np.arange(2.0)[kept])})
    again.restore(needed, state, numbers, (numbers,) * len(programs))
    again.step(WindowEvents(times[:0], keys[:0], (keys[:0],) * len(programs), {"x": Column(np.arange(0.0))}), 9, True)


def warm_up_joins(times: Int64s, keys: Int64s) -> None:
    window = JoinInput(kind="count", size=1)
    program = JoinProgram(inputs=(window, window), preserved=(False, False))
    CompiledJoin((program,)).step(JoinEvents(times, keys, keys, keys), 0, final=True)


def warm_up_sequences(events: Events, later: Expression) -> None:
    """Both ways of finding sequences, and what snapshots of them need."""
    plain = SequenceProgram((Step("a", 0), Step("b", 0)), (later,), "skip_till_any")
    CompiledSequence(plain, Interner()).step(events, 0)
    few = Call("lt", (Aggregate("count", None, variables=("b",)), Constant(5, "int")), "bool")
    items = (Step("a", 0), Step("b", 0, few, repeated=True), Absent("c", 0))
    runs = SequenceProgram(items, (later,), "skip_till_next", within=1, limit=10)
    operator = CompiledSequence(runs, Interner())
    operator.step(events, 0)
    kept, taken = operator.live(0)
    partials = operator.keep_partials(kept)
    again = CompiledSequence(runs, Interner())
    again.replay(events, taken, partials, 0)
    again.step(Events(events.times[:0], events.keys[:0], {"x": Column(np.arange(0.0))}, None), 9, final=True)
    endless = CompiledSequence(SequenceProgram(items[:2], (later,), "skip_till_next"), Interner())
    endless.step(events, 0)
    endless.live(0)
    warm_up_flow(events, SequenceProgram(items, (later,), flow=_make_flow()))


def _make_flow() -> Flow:
    """a, b again and again, and no c for a while."""
    loop = (Way(2, "b"), Way(3, after=1))
    return Flow((Place((Way(1, "a"),)), Place((Way(2, "b"),)), Place(loop, (Bar("c", (1,)),)), Place(accepts=True)))


def warm_up_flow(events: Events, program: SequenceProgram) -> None:
    operator = CompiledSequence(program, Interner())
    operator.step(events, 0)
    operator.find_told(0)
    kept, taken = operator.live(0)
    partials = operator.keep_partials(kept)
    again = CompiledSequence(program, Interner())
    again.replay(events, taken, partials, 0)
    again.step(Events(events.times[:0], events.keys[:0], {"x": Column(np.arange(0.0))}, None), 9, final=True)
