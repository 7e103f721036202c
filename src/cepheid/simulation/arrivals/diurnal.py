"""A rate with the rhythm of a day: a line through 24 hourly rates, day after day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cepheid.errors import InvalidInput
from cepheid.simulation.arrivals.field_checks import check_length, check_rate
from cepheid.simulation.arrivals.rate_curve import CurvedArrivals, RateCurve

HOURS = 24
# Share of the buses that are out at 0:00, 1:00, ...: they leave from 6 to 9, come in from 19 to 3 (demo/bus_feed.py)
BUS_DAY = (
    *(0.316, 0.156, 0.043, 0.0, 0.0, 0.0, 0.0, 0.483, 0.874, 1.0, 1.0, 1.0),
    *(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.957, 0.844, 0.683, 0.5),
)


@dataclass(frozen=True, slots=True)
class Diurnal(CurvedArrivals):
    """rate_per_s: the mean of a day.  hours: how the hours compare, at 0:00, 1:00, ...; left out, the buses' day.
    start_hour: when the source begins.  day_s: how long a day takes; shorter ones show more days in less time."""

    rate_per_s: float
    hours: tuple[float, ...] = BUS_DAY
    start_hour: float = 6.0
    day_s: float = 86400.0

    def __post_init__(self) -> None:
        check_rate("diurnal", "rate_per_s", self.rate_per_s)
        check_length("diurnal", "day_s", self.day_s)
        check_length("diurnal", "start_hour", self.start_hour, may_be_zero=True)
        if len(self.hours) != HOURS:
            raise InvalidInput(
                f'arrivals "diurnal": "hours" has {len(self.hours)} rates', hint="give 24, from midnight on"
            )
        for number, hour in enumerate(self.hours):
            check_rate("diurnal", f"hours[{number}]", hour)
        if not any(self.hours):
            raise InvalidInput('arrivals "diurnal": all "hours" are 0', hint="at least one has to be more")

    def scaled(self, factor: float) -> Self:
        return replace(self, rate_per_s=self.rate_per_s * factor)

    def _curve(self) -> RateCurve:
        """A day from the start hour on."""
        start = self.start_hour % HOURS
        clock = np.unique([start, *(hour for hour in range(HOURS + 1) if hour > start)])
        clock = np.append(clock, [hour + HOURS for hour in range(1, HOURS) if hour < start])
        clock = np.append(clock, start + HOURS) if clock[-1] < start + HOURS else clock
        rates = np.interp(clock, np.arange(2 * HOURS + 1), [*self.hours, *self.hours, self.hours[0]])
        rates *= self.rate_per_s / (sum(self.hours) / HOURS)
        times = (clock - start) * (self.day_s / HOURS)
        return RateCurve(tuple(times), tuple(rates[:-1]), tuple(rates[1:]), repeats_from=0)
