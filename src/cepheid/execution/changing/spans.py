"""Stretches of time of some scopes: what late events touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.execution.changing.change_rows import Flags, Int64s
from cepheid.kernel.compiled.time_links import find_spans, unite_spans


@dataclass(frozen=True, slots=True)
class Spans:
    """scopes, begins, ends: int64[n], sorted by scope and begin, without overlaps; an end does not belong to it."""

    scopes: Int64s
    begins: Int64s
    ends: Int64s

    @staticmethod
    def unite(scopes: Int64s, begins: Int64s, ends: Int64s) -> Spans:
        """Of stretches in any order, which may overlap."""
        if len(scopes) > 1:
            order = np.lexsort((begins, scopes))
            scopes, begins, ends = scopes[order], begins[order], ends[order]
            return Spans(*unite_spans(scopes, begins, ends))
        return Spans(scopes, begins, ends)

    def __len__(self) -> int:
        return len(self.scopes)

    def find(self, scopes: Int64s, times: Int64s) -> Int64s:
        """int64[n]: which of them a row of this scope and time is in; -1: none."""
        found: Int64s = find_spans(scopes, times, self.scopes, self.begins, self.ends)
        return found

    def hold(self, scopes: Int64s, times: Int64s) -> Flags:
        """bool[n]: is a row of this scope and time in one of them?"""
        return self.find(scopes, times) >= 0
