"""Compile every kernel once, or load it from Numba's cache, before time matters."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Column, Events, Interner
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.positions import navigate_matches, tabulate_positions
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.expression import Call, Cell, Position
from cepheid.kernel.pattern import Concatenation, RowPatternProgram, SequenceProgram, Step, Strategy, Term


def compile_kernels() -> None:
    """Run each operator over two events: the kernels are generic, so that is all of them."""
    times = np.arange(2, dtype=np.int64)
    keys, _ = KeyIndex(1).number_rows([Column(np.zeros(2, dtype=np.int64))], 2)
    events = Events(times, keys, {"x": Column(np.arange(2.0))}, None)
    later = Call("lt", (Cell("x", "float", Position(("a",))), Cell("x", "float", Position(("b",)))), "bool")
    rows = CompiledRowPattern(RowPatternProgram(Concatenation((Term("a"), Term("b"))), (("b", later),)), Interner())
    found = rows.step(events, 0, final=True)
    rows.live()
    CompiledRowPattern(RowPatternProgram(Term("a"), ()), Interner()).replay(
        Events(times, keys), np.zeros(2, dtype=np.bool_), np.zeros(2, dtype=np.bool_), np.zeros(1, dtype=np.int64)
    )
    navigate_matches(tabulate_positions([Position()], found.variables), 0, found.labels, found.begins, found.ends)
    strategies: tuple[Strategy, ...] = ("skip_till_any", "skip_till_next")
    for strategy in strategies:
        CompiledSequence(SequenceProgram((Step("a", 0), Step("b", 0)), (later,), strategy), Interner()).step(events, 0)
