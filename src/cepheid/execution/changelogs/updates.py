"""Which retract and which insert of one push are an update: those of the same `_match`.

    retract 7 (old)                      7 old   before
    retract 9              ─ pair ─▶     7 new   after
    insert  7 (new)                      9       gone
    insert  8                            8       new

Where a `_match` has several rows, its first retract goes with its first insert, and so on; what is left over just goes
or comes.  A pair stands together, where its retract stood, because readers of updates take the row behind an old one
for the new one.  Rows that only come are last, as in our own form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.schema import RETRACT

Flags = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Updates:
    """rows: of a push, those of a pair one behind the other.  gone: bool[n], is it a retract?  paired: bool[n], is it
    half of an update?"""

    rows: pa.Table
    gone: Flags
    paired: Flags

    def choose(self, gone: str, before: str, after: str, new: str) -> pa.Array:
        """By row: the word of a form for what happens to it."""
        codes = np.where(self.gone, self.paired, 2 + ~self.paired).astype(np.int8)
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([gone, before, after, new])).cast(pa.string())


def pair_updates(changes: pa.Table) -> Updates:
    """changes: in our own form."""
    gone: Flags = pc.equal(changes.column("_change"), RETRACT).to_numpy()
    if not gone.any() or gone.all():
        return Updates(changes, gone, np.zeros(len(gone), dtype=np.bool_))
    partners = _find_partners(_number_values(changes.column("_match")), gone)
    paired = partners >= 0
    own = np.arange(len(gone))
    places = np.where(gone, own, np.where(paired, partners, len(gone) + own))
    order = np.lexsort([~gone, places])
    return Updates(changes.take(pa.array(order)), gone[order], paired[order])


def _number_values(column: pa.ChunkedArray) -> Int64s:
    numbers: Int64s = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def _find_partners(matches: Int64s, gone: Flags) -> Int64s:
    """int64[n]: for each row, the one that it is an update with; -1: none."""
    order = np.lexsort([gone, matches])  # stable: in each group, rows as they came
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (matches[order][1:] != matches[order][:-1]) | (gone[order][1:] != gone[order][:-1])
    firsts = np.flatnonzero(begins)
    which = np.empty(len(order), dtype=np.int64)  # its number among the retracts, or the inserts, of its match
    which[order] = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
    beside = np.lexsort([gone, which, matches])
    same = np.flatnonzero((matches[beside][1:] == matches[beside][:-1]) & (which[beside][1:] == which[beside][:-1]))
    partners = np.full(len(order), -1, dtype=np.int64)
    partners[beside[same]], partners[beside[same + 1]] = beside[same + 1], beside[same]
    return partners
