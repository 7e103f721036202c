"""What a base knows of some scopes: so that these begin again from there, and nobody else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.event_time import order_values
from cepheid.execution.changing.change_rows import Int64s
from cepheid.execution.changing.scopes import Scopes
from cepheid.execution.operator import KeptEvents


class BaseScopes:
    def __init__(self, kept: KeptEvents, scopes: Scopes) -> None:
        """kept: in the layout of scopes, in order."""
        self._kept, self._scopes = kept, scopes
        whose = scopes.of_events(kept.table)
        self._order = np.argsort(whose, kind="stable")
        self._whose = whose[self._order]

    def take(self, scopes: Int64s, epochs: Int64s) -> tuple[KeptEvents, Int64s] | None:
        """What there is of these scopes, ascending, as of keys in these epochs, and the times of the events; None:
        nothing."""
        begins = np.searchsorted(self._whose, scopes)
        counts = np.searchsorted(self._whose, scopes, side="right") - begins
        if not counts.any():
            return None
        which = np.repeat(np.arange(len(scopes)), counts)
        places = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + begins[which]
        in_time = np.argsort(self._order[places], kind="stable")
        chosen = self._order[places][in_time]
        kept = self._kept
        events = self._scopes.mark(kept.table.take(pa.array(chosen)), epochs[which[in_time]])
        told = replace(
            kept, table=events, roles=kept.roles[chosen], numbers=kept.numbers[chosen], taken=kept.taken[chosen]
        )
        return told, order_values(events.column("_time"))[0]
