"""How late events are, where workers measure it, each of a share of the keys: a share tells all that it knows, as text.

    share 0: LatenessTally ─write_share─▶ "0 eNqr..." ─┐
    share 1: ...                          "1 eNqr..." ─┴▶ LatenessOfShares, the last of each ─▶ merge ─▶ LatenessReport

So what is told twice counts once, and a share that goes on from a snapshot has told everything with its first word.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Container, Hashable, Iterable
from zlib import compress, decompress

import numpy as np

from cepheid.disorder.lateness_report import LatenessReport, LatenessTally, merge_tallies


def write_share(share: int, tallies: list[LatenessTally]) -> str | None:
    """One to three thousand characters, as buckets that are empty take no room; None: nobody looks."""
    if not tallies:
        return None
    total = merge_tallies(tallies)
    for histogram in (total.events, total.results):
        histogram.weights = histogram.weights.astype(np.float32).astype(np.float64)  # a third shorter
    return f"{share} {b64encode(compress(json.dumps(total.write_state()).encode())).decode()}"


def read_share(told: str) -> LatenessTally:
    tally = LatenessTally()
    tally.read_state(json.loads(decompress(b64decode(told.partition(" ")[2]))))
    return tally


class LatenessOfShares:
    """stage: what the shares are of; each has shares of its own.  May be asked by another thread than tells it."""

    def __init__(self) -> None:
        self._told: dict[tuple[Hashable, str], str] = {}

    def hear(self, stage: Hashable, told: Iterable[str]) -> None:
        self._told |= {(stage, text.partition(" ")[0]): text for text in told}

    def keep(self, stages: Container[Hashable]) -> None:
        """Forget what others told."""
        self._told = {key: text for key, text in self._told.items() if key[0] in stages}

    def report(self) -> LatenessReport | None:
        """Of all together; None: nothing was told."""
        told = list(self._told.values())
        return merge_tallies(map(read_share, told)).report() if told else None
