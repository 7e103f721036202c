"""Which bank computes which summary.

    summaries ─▶ families, in order: the first that claims a summary computes it ─▶ one bank for each different claim

Summaries with the same claim share what is held: sum(x), avg(x) and stddev(x) are one record for each slot, all
percentiles of x one tree.  Equal summaries are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.summaries.cells import Columns
from cepheid.kernel.compiled.summaries.counts import CountBank
from cepheid.kernel.compiled.summaries.distinct import DistinctBank
from cepheid.kernel.compiled.summaries.ends import FirstBank, LastBank
from cepheid.kernel.compiled.summaries.extremes import ExtremeBank
from cepheid.kernel.compiled.summaries.float_sums import VARIANCES, FloatSumBank
from cepheid.kernel.compiled.summaries.integer_sums import IntegerSumBank
from cepheid.kernel.compiled.summaries.lists import ListBank
from cepheid.kernel.compiled.summaries.python_functions import PythonBank
from cepheid.kernel.compiled.summaries.ranked import RankedBank
from cepheid.kernel.compiled.window_script import Script
from cepheid.kernel.window import Summary, SummaryColumn, SummaryFunction


class Bank(Protocol):
    """What slots hold, for some summaries."""

    def run(self, script: Script, store: Columns) -> tuple[SummaryColumn, ...]:
        """Carry out the steps; one column for each of its summaries, each with script.rows values."""
        ...


@runtime_checkable
class KeepingBank(Bank, Protocol):
    """One whose slots can be kept when they were filled by ADD."""

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]: ...

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None: ...


Claim = Callable[[Summary, tuple[Summary, ...]], Hashable]
"""Of a summary, given all of them: None if it is for another family, else what it shares with those of equal claim."""


@dataclass(frozen=True, slots=True)
class Family:
    claim: Claim
    bank: Callable[[list[Summary], Interner], Bank]


def _claim_integer_sum(summary: Summary, summaries: tuple[Summary, ...]) -> Hashable:
    return None if summary.column_kind == "float" else _claim_sum(summary, summaries, ("sum", "avg"))


def _claim_float_sum(summary: Summary, summaries: tuple[Summary, ...]) -> Hashable:
    """Also the variances of integers."""
    of_floats: tuple[SummaryFunction, ...] = ("sum", "avg", *VARIANCES)
    return _claim_sum(summary, summaries, of_floats if summary.column_kind == "float" else VARIANCES)


def _claim_sum(summary: Summary, summaries: tuple[Summary, ...], functions: tuple[SummaryFunction, ...]) -> Hashable:
    """Of values that are added up anyway the count is known, too."""
    if summary.function == "count" and summary.column is not None:
        is_added_up = any(other.column == summary.column and other.function in functions for other in summaries)
        return summary.column if is_added_up else None
    return summary.column if summary.function in functions else None


def _claim_alone(*functions: SummaryFunction) -> Claim:
    """Each summary for itself."""
    return lambda summary, _: summary if summary.function in functions else None


def _claim_by_column(*functions: SummaryFunction) -> Claim:
    return lambda summary, _: summary.column if summary.function in functions else None


FAMILIES = (
    Family(_claim_integer_sum, IntegerSumBank),
    Family(_claim_float_sum, FloatSumBank),
    Family(_claim_alone("count"), CountBank),
    Family(_claim_alone("min", "max", "min_by", "max_by"), ExtremeBank),
    Family(_claim_alone("first"), FirstBank),
    Family(_claim_alone("last"), LastBank),
    Family(_claim_by_column("percentile_cont", "percentile_disc", "least", "greatest"), RankedBank),
    Family(_claim_alone("count_distinct"), DistinctBank),
    Family(_claim_alone("array_agg"), ListBank),
    Family(_claim_alone("python"), PythonBank),
)


class Banks:
    """All summaries of a program."""

    def __init__(self, summaries: tuple[Summary, ...], interner: Interner) -> None:
        self._summaries = summaries
        shared: dict[tuple[int, Hashable], list[Summary]] = {}
        for summary in dict.fromkeys(summaries):
            shared.setdefault(_find_family(summary, summaries), []).append(summary)
        self._banks = [(FAMILIES[number].bank(members, interner), members) for (number, _), members in shared.items()]

    def run(self, script: Script, store: Columns) -> tuple[SummaryColumn, ...]:
        """Carry out the steps; one column for each summary, each with script.rows values."""
        answers: dict[Summary, SummaryColumn] = {}
        for bank, members in self._banks:
            answers |= zip(members, bank.run(script, store), strict=True)
        return tuple(answers[summary] for summary in self._summaries)

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        """What these slots hold, which were filled by ADD; of MERGEABLE functions only."""
        kept: dict[str, npt.NDArray[Any]] = {}
        for number, (bank, _) in enumerate(self._banks):
            assert isinstance(bank, KeepingBank), "only mergeable functions are kept"
            kept |= {f"{number}.{name}": array for name, array in bank.keep(slots).items()}
        return kept

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        """The same into these slots, which are empty."""
        for number, (bank, _) in enumerate(self._banks):
            assert isinstance(bank, KeepingBank), "only mergeable functions are kept"
            start = f"{number}."
            bank.restore(slots, {name.removeprefix(start): kept[name] for name in kept if name.startswith(start)})


def _find_family(summary: Summary, summaries: tuple[Summary, ...]) -> tuple[int, Hashable]:
    for number, family in enumerate(FAMILIES):
        claim = family.claim(summary, summaries)
        if claim is not None:
            return number, claim
    raise AssertionError(f"no bank computes {summary.function}")


def make_banks(summaries: tuple[Summary, ...], interner: Interner) -> Banks:
    return Banks(summaries, interner)
