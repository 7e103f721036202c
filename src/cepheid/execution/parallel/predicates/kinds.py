"""The predicates there are.  A user's own is any object like them (predicate.py): it needs no line here."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.execution.parallel.predicates.between import BetweenPredicate
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.predicates.time import TimePredicate

PREDICATES: dict[str, Callable[..., Predicate]] = {
    "count": CountPredicate,
    "time": TimePredicate,
    "between": BetweenPredicate,
}
