"""What a bank has kept of its slots, one row for each slot: taken apart and put together again."""

from __future__ import annotations

from cepheid.kernel.columns import Int64s
from cepheid.kernel.partition_rows import Arrays, join_arrays, take_arrays


class KeptRows:
    """For banks whose arrays have one row, or one text, for each slot, and do not point into one another."""

    def take_kept(self, kept: Arrays, places: Int64s) -> Arrays:
        """Of what `keep` gave, that of the slots at these places."""
        return take_arrays(kept, places)

    def join_kept(self, parts: list[Arrays]) -> Arrays:
        """What `keep` gave of several banks, as if all slots had been asked of one, one part behind another."""
        return join_arrays(parts)
