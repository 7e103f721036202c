"""Windows in arithmetic: where the window of an event starts, and durations."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from cepheid.event_time import in_microseconds
from cepheid.language.parsing.own_functions import WINDOW_FLOOR, call_own

START, END, TIME = "window_start", "window_end", "window_time"
BEFORE_END = timedelta(milliseconds=1)  # window_time is the last moment of a window, in Flink's milliseconds
UNITS = (
    ("DAY", timedelta(days=1)),
    ("HOUR", timedelta(hours=1)),
    ("MINUTE", timedelta(minutes=1)),
    ("SECOND", timedelta(seconds=1)),
    ("MILLISECOND", timedelta(milliseconds=1)),
    ("MICROSECOND", timedelta(microseconds=1)),
)


def write_floor(time: exp.Expr, size: timedelta, offset: timedelta) -> exp.Expr:
    numbers = (in_microseconds(size), in_microseconds(offset % size))
    return call_own(WINDOW_FLOOR, time.copy(), *(exp.Literal.number(each) for each in numbers))


def write_duration(duration: timedelta) -> exp.Interval:
    """In the largest unit of which it is a whole number."""
    unit, length = next((unit, length) for unit, length in UNITS if not duration % length)
    return exp.Interval(this=exp.Literal.string(str(duration // length)), unit=exp.Var(this=unit))


def shift(time: exp.Expr, by: timedelta) -> exp.Expr:
    """time + by; by may be negative or zero."""
    if not by:
        return time
    return exp.Add(this=time, expression=write_duration(by)) if by > timedelta(0) else _subtract(time, -by)


def _subtract(time: exp.Expr, by: timedelta) -> exp.Expr:
    return exp.Sub(this=time, expression=write_duration(by))
