"""The kinds of arrivals, by the names that scenarios call them; users add theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

from cepheid.errors import InvalidInput
from cepheid.simulation.arrivals.bursts import Bursts
from cepheid.simulation.arrivals.diurnal import Diurnal
from cepheid.simulation.arrivals.increase import Increase
from cepheid.simulation.arrivals.poisson import Poisson
from cepheid.simulation.arrivals.replay import Replay
from cepheid.simulation.arrivals.uniform import Uniform

ARRIVALS: dict[str, type[Any]] = {
    "uniform": Uniform,
    "increase": Increase,
    "poisson": Poisson,
    "bursts": Bursts,
    "diurnal": Diurnal,
    "replay": Replay,
}


def register_arrivals(name: str) -> Callable[[type[Any]], type[Any]]:
    """Put above a class that is arrivals: scenarios then find it as `kind = name`.

    A frozen dataclass is made from the keys of the table, which are its fields; any other class has
    `from_table(table, folder)`.
    """

    def register(kind: type[Any]) -> type[Any]:
        missing = [each for each in ("amounts", "scaled", "mean_rate") if not callable(getattr(kind, each, None))]
        if missing:
            hint = f"give the class a method {missing[0]}, as in cepheid.simulation.arrivals"
            raise InvalidInput(f'arrivals "{name}": {kind.__name__} has no {missing[0]}()', hint=hint)
        if not is_dataclass(kind) and not hasattr(kind, "from_table"):
            raise InvalidInput(
                f'arrivals "{name}": {kind.__name__} is neither a dataclass nor has it from_table(table, folder)',
                hint="put @dataclass(frozen=True) above it",
            )
        if ARRIVALS.get(name, kind) is not kind:
            raise InvalidInput(f'arrivals "{name}" are there already', hint="choose another name")
        ARRIVALS[name] = kind
        return kind

    return register
