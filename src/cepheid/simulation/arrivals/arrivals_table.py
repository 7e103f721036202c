"""From a table of a scenario to arrivals: { kind = "bursts", rate_per_s = 1000.0, random = true, seed = 7 }."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_type_hints

from cepheid.errors import InvalidInput, suggest_name
from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.arrivals.field_checks import check_seed, refuse_unknown
from cepheid.simulation.arrivals.kinds import ARRIVALS
from cepheid.simulation.arrivals.randomised import Randomised


def make_arrivals(table: Mapping[str, Any], folder: Path) -> ArrivalProcess:
    """kind: left out, the same rate all the time.  random, seed: any kind can be the mean of a random one.  folder:
    where paths of the table begin."""
    keys = dict(table)
    kind = keys.pop("kind", "uniform")
    if not isinstance(kind, str) or kind not in ARRIVALS:
        raise InvalidInput(f'arrivals "{kind}" do not exist', hint=suggest_name(str(kind), ARRIVALS))
    made = ARRIVALS[kind]
    is_random = keys.pop("random", None)
    if not isinstance(is_random, bool | None):
        raise InvalidInput(f'arrivals "{kind}": "random" is {is_random!r}', hint="true or false")
    has_seed = "seed" in getattr(made, "__dataclass_fields__", {})
    if is_random and has_seed:
        raise InvalidInput(f'arrivals "{kind}" are random already', hint="leave out random")
    if is_random is None and "seed" in keys and not has_seed and not hasattr(made, "from_table"):
        raise InvalidInput(f'arrivals "{kind}" are not random: "seed" does nothing', hint="random = true")
    if is_random is None or has_seed:
        return _make(kind, made, keys, folder)
    seed = check_seed(kind, keys.pop("seed", 1))
    around = _make(kind, made, keys, folder)
    return Randomised(around, seed) if is_random else around


def _make(kind: str, made: type[Any], keys: dict[str, Any], folder: Path) -> ArrivalProcess:
    if hasattr(made, "from_table"):
        return made.from_table(keys, folder)
    known = {each.name: each for each in fields(made)}
    refuse_unknown(kind, keys, known)
    for name, each in known.items():
        if name not in keys and each.default is MISSING and each.default_factory is MISSING:
            raise InvalidInput(f'arrivals "{kind}": "{name}" is missing', hint=f"it needs: {_list_needed(made)}")
    hints = get_type_hints(made)
    return made(**{name: _fit(kind, name, value, hints[name]) for name, value in keys.items()})


def _list_needed(made: type[Any]) -> str:
    needed = [each for each in fields(made) if each.default is MISSING and each.default_factory is MISSING]
    return ", ".join(each.name for each in needed)


def _fit(kind: str, name: str, value: Any, hint: Any) -> Any:
    """TOML's whole numbers as floats where those are meant, its arrays as tuples; what a number may be, the kind
    itself says."""
    if hint in (float, float | None):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f'arrivals "{kind}": "{name}" is {value!r}', hint="a number")
        return float(value)
    if hint is bool and not isinstance(value, bool):
        raise InvalidInput(f'arrivals "{kind}": "{name}" is {value!r}', hint="true or false")
    if hint == tuple[float, ...]:
        if not isinstance(value, list | tuple):
            raise InvalidInput(f'arrivals "{kind}": "{name}" is {value!r}', hint="numbers in brackets")
        return tuple(_fit(kind, f"{name}[{number}]", each, float) for number, each in enumerate(value))
    return value
