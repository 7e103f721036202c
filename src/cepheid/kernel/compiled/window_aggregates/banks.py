"""Which bank computes which aggregate.

    aggregates ─▶ families, in order: the first that claims it computes it ─▶ one bank for each different claim

Aggregates with the same claim share what is held: sum(x), avg(x) and stddev(x) are one record for each slot, all
percentiles of x one tree.  Equal aggregates are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.window_aggregates.cells import Columns
from cepheid.kernel.compiled.window_aggregates.counts import CountBank
from cepheid.kernel.compiled.window_aggregates.distinct import DistinctBank
from cepheid.kernel.compiled.window_aggregates.ends import FirstBank, LastBank
from cepheid.kernel.compiled.window_aggregates.extremes import ExtremeBank
from cepheid.kernel.compiled.window_aggregates.float_sums import FloatSumBank
from cepheid.kernel.compiled.window_aggregates.integer_sums import IntegerSumBank
from cepheid.kernel.compiled.window_aggregates.lists import ListBank
from cepheid.kernel.compiled.window_aggregates.python_functions import PythonBank
from cepheid.kernel.compiled.window_aggregates.ranked import RankedBank
from cepheid.kernel.compiled.window_steps import StepList
from cepheid.kernel.partition_rows import Arrays
from cepheid.kernel.window import AnswerColumn, WindowedAggregate


class Bank(Protocol):
    """What slots hold, for some aggregates."""

    def run(self, step_list: StepList, store: Columns) -> tuple[AnswerColumn, ...]:
        """Carry out the steps; one column for each of its aggregates, each with step_list.rows values."""
        ...


@runtime_checkable
class KeepingBank(Bank, Protocol):
    """One whose slots can be kept when they were filled by ADD."""

    def keep(self, slots: Int64s) -> Arrays: ...

    def restore(self, slots: Int64s, kept: Arrays) -> None: ...

    def take_kept(self, kept: Arrays, places: Int64s) -> Arrays: ...

    def join_kept(self, parts: list[Arrays]) -> Arrays: ...


Claim = Callable[[WindowedAggregate, tuple[WindowedAggregate, ...]], Hashable]
"""None if the aggregate is for another family, else what it shares with those of equal claim."""


@dataclass(frozen=True, slots=True)
class Family:
    claim: Claim
    bank: Callable[[list[WindowedAggregate], Interner], Bank]


def _claim_integer_sum(aggregate: WindowedAggregate, aggregates: tuple[WindowedAggregate, ...]) -> Hashable:
    return None if aggregate.column_kind == "float" else _claim_sum(aggregate, aggregates, ("sums",))


def _claim_float_sum(aggregate: WindowedAggregate, aggregates: tuple[WindowedAggregate, ...]) -> Hashable:
    """Also the variances of integers."""
    return _claim_sum(
        aggregate, aggregates, ("sums", "variances") if aggregate.column_kind == "float" else ("variances",)
    )


def _claim_sum(
    aggregate: WindowedAggregate, aggregates: tuple[WindowedAggregate, ...], families: tuple[str, ...]
) -> Hashable:
    """Of values that are added up anyway the count is known, too."""
    if _family_of(aggregate) == "count" and aggregate.column is not None:
        is_added_up = any(other.column == aggregate.column and _family_of(other) in families for other in aggregates)
        return aggregate.column if is_added_up else None
    return aggregate.column if _family_of(aggregate) in families else None


def _claim_alone(family: str) -> Claim:
    """Each aggregate for itself."""
    return lambda aggregate, _: aggregate if _family_of(aggregate) == family else None


def _claim_by_column(family: str) -> Claim:
    return lambda aggregate, _: aggregate.column if _family_of(aggregate) == family else None


def _family_of(aggregate: WindowedAggregate) -> str:
    return find_aggregate(aggregate.function).family


FAMILIES = (
    Family(_claim_integer_sum, IntegerSumBank),
    Family(_claim_float_sum, FloatSumBank),
    Family(_claim_alone("count"), CountBank),
    Family(_claim_alone("extreme"), ExtremeBank),
    Family(_claim_alone("first"), FirstBank),
    Family(_claim_alone("last"), LastBank),
    Family(_claim_by_column("ranked"), RankedBank),
    Family(_claim_alone("distinct"), DistinctBank),
    Family(_claim_alone("list"), ListBank),
    Family(_claim_alone("python"), PythonBank),
)


class Banks:
    """All aggregates of a program."""

    def __init__(self, aggregates: tuple[WindowedAggregate, ...], interner: Interner) -> None:
        self._aggregates = aggregates
        shared: dict[tuple[int, Hashable], list[WindowedAggregate]] = {}
        for aggregate in dict.fromkeys(aggregates):
            shared.setdefault(_find_family(aggregate, aggregates), []).append(aggregate)
        self._banks = [(FAMILIES[number].bank(members, interner), members) for (number, _), members in shared.items()]

    def run(self, step_list: StepList, store: Columns) -> tuple[AnswerColumn, ...]:
        """Carry out the steps; one column for each aggregate, each with step_list.rows values."""
        answers: dict[WindowedAggregate, AnswerColumn] = {}
        for bank, members in self._banks:
            answers |= zip(members, bank.run(step_list, store), strict=True)
        return tuple(answers[aggregate] for aggregate in self._aggregates)

    @property
    def aggregates(self) -> tuple[WindowedAggregate, ...]:
        return self._aggregates

    @property
    def members(self) -> list[tuple[Bank, list[WindowedAggregate]]]:
        """Each bank, and the aggregates that it computes."""
        return self._banks

    def keep(self, slots: Int64s) -> Arrays:
        """What these slots hold, which were filled by ADD; of MERGEABLE functions only."""
        kept: Arrays = {}
        for number, (bank, _) in enumerate(self._banks):
            assert isinstance(bank, KeepingBank), "only mergeable functions are kept"
            kept |= {f"{number}.{name}": array for name, array in bank.keep(slots).items()}
        return kept

    def restore(self, slots: Int64s, kept: Arrays) -> None:
        """The same into these slots, which are empty."""
        for number, (bank, _) in enumerate(self._banks):
            assert isinstance(bank, KeepingBank), "only mergeable functions are kept"
            bank.restore(slots, _pick(kept, number))

    def take_kept(self, kept: Arrays, places: Int64s) -> Arrays:
        """Of what `keep` gave, that of the slots at these places."""
        taken: Arrays = {}
        for number, (bank, _) in enumerate(self._banks):
            assert isinstance(bank, KeepingBank), "only mergeable functions are kept"
            of_bank = bank.take_kept(_pick(kept, number), places)
            taken |= {f"{number}.{name}": array for name, array in of_bank.items()}
        return taken

    def join_kept(self, parts: list[Arrays]) -> Arrays:
        """What `keep` gave of several, as if their slots had been asked for one behind another."""
        joined: Arrays = {}
        for number, (bank, _) in enumerate(self._banks):
            assert isinstance(bank, KeepingBank), "only mergeable functions are kept"
            of_bank = bank.join_kept([_pick(kept, number) for kept in parts])
            joined |= {f"{number}.{name}": array for name, array in of_bank.items()}
        return joined


def _pick(kept: Arrays, number: int) -> Arrays:
    """What a bank said, under its own names."""
    start = f"{number}."
    return {name.removeprefix(start): array for name, array in kept.items() if name.startswith(start)}


def _find_family(aggregate: WindowedAggregate, aggregates: tuple[WindowedAggregate, ...]) -> tuple[int, Hashable]:
    for number, family in enumerate(FAMILIES):
        claim = family.claim(aggregate, aggregates)
        if claim is not None:
            return number, claim
    raise AssertionError(f"no bank computes {aggregate.function}")


def make_banks(aggregates: tuple[WindowedAggregate, ...], interner: Interner) -> Banks:
    return Banks(aggregates, interner)
