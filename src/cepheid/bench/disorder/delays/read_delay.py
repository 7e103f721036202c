"""From a table of a scenario to a delay: { kind = "pareto", shape = 1.5, least_ms = 10 }."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from cepheid.bench.disorder.delays.delay import Delay
from cepheid.bench.disorder.delays.drawn import UniformShare, Zipf
from cepheid.bench.disorder.delays.drift import Drift
from cepheid.bench.disorder.delays.kinds import DELAYS
from cepheid.bench.disorder.delays.outage import Outage
from cepheid.bench.disorder.delays.ramp import Ramp
from cepheid.bench.disorder.delays.replay import Replay, read_recorded
from cepheid.toml_files.table import REQUIRED, Table

MAY_BE_ZERO = ("delay_ms", "low_ms", "start_s", "share")


def read_delay(table: Table, folder: Path, more: Collection[str] = ()) -> Delay:
    """more: keys of the table that are not the delay's.  folder: where paths begin."""
    kind = table.choice("kind", DELAYS)
    made = DELAYS[kind]
    own = ("delays_ms", "path") if made is Replay else tuple(each.name for each in fields(made))
    known = Table(table.fields, f'delay "{kind}"', ("kind", *own, *more), table.where, table.kind)
    if made is Replay:
        return read_recorded(known, folder)
    delay: Delay = made(**{each.name: _read_field(known, each, folder) for each in fields(made)})
    _check(delay, known)
    return delay


def _read_field(table: Table, field: Any, folder: Path) -> Any:
    if field.name == "of":
        hint = 'write of = { kind = "exponential", mean_ms = 20 }'
        table.value("of", hint)
        return read_delay(table.table("of", f"the delay of {table.title}", hint=hint), folder)
    default = REQUIRED if field.default is MISSING else field.default
    return table.number(field.name, default, zero=field.name in MAY_BE_ZERO)


def _check(delay: Delay, table: Table) -> None:
    """What two numbers are to each other, or one must be."""
    match delay:
        case UniformShare(share=share) if share > 1:
            raise table.mistake(f"has a share of {share:g}", "share", hint="from 0 (none is late) to 1 (all are)")
        case UniformShare(low_ms=low, high_ms=high) if low > high:
            raise table.mistake(f"is late by {low:g} to {high:g} ms", "low_ms", hint="low_ms is the smaller one")
        case Zipf(skew=skew) if skew <= 1:
            raise table.mistake(f"has a skew of {skew:g}", "skew", hint="more than 1: 1.8 has a long tail")
        case Ramp(start_s=start, end_s=end) if end <= start:
            raise table.mistake(f"ends at {end:g} s and starts at {start:g} s", "end_s", hint="it ends after its start")
        case Outage(every_s=every, length_s=length) if length >= every:
            hint = "an outage must be over before the next one begins"
            raise table.mistake(f"lasts {length:g} s of every {every:g} s", "length_s", hint=hint)
        case Drift(factor=factor) if factor < 1:
            raise table.mistake(f"has a factor of {factor:g}", "factor", hint="1 or more, of what stands in `of`")
