"""One service day of a synthetic city's buses, of the size and rhythm of the Dublin feed.

    lay_streets -> lay_lines                  the city: lines share streets, most near the centre
    plan_service, plan_jams, plan_mishaps     what will happen, and when each bus is out
    drive                                     one step each 20 s, all buses at once
    generate_feed -> write_feed               a table in time order, then Parquet files

Size and rhythm are Table I of Zacheilas et al., "Elastic Complex Event Processing exploiting Prediction";
places, jams and delays are made up.  Positions are metres on a plan, so that distances are Euclidean.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

START_S = int(datetime(2013, 1, 15, 6, tzinfo=UTC).timestamp())  # a Tuesday of the month the paper used
STEP_S, STEPS_PER_HOUR, STEPS = 20, 180, 21 * 180
CENTRE, HALF_SIZE = np.array([6_000.0, 5_000.0]), np.array([5_900.0, 4_900.0])  # metres
SPACING_M, GPS_NOISE_M = 10.0, 2.0  # spacing: between the points by which a line's course is known
MOVING_M_PER_S, TOP_M_PER_S = 7.0, 30 / 3.6
CRAWL = 0.15  # share of the free speed that is left on the way into a jam
RECOVERY = 0.985  # share of the lost time that is still lost a step later: about 22 minutes to regain it
NOISE_KEPT, NOISE_STEP_S = 0.978, 9.0  # delay noise: within about 43 s, forgotten in 15 minutes
# Jams: the two with short holds are near misses, in which no bus waits long enough to be late throughout.
JAM_START_H = (7.5, 8.6, 10.6, 12.4, 15.9, 16.9, 18.3, 20.6)
JAM_MINUTES, JAM_HOLD_MINUTES = (40, 45, 20, 40, 45, 50, 40, 20), (13, 13, 2, 14, 14, 13, 14, 2)
JAM_ARRIVALS_PER_MINUTE, JAM_DISTANCE_M, JAM_RADIUS_M = 2.8, 900, 220
BREAKDOWNS, REBOOKINGS = 40, 60


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The course of each line in steps of SPACING_M, float64[lines, longest, 2], and its length."""

    course: Floats
    length_m: Floats


@dataclass(frozen=True)
class Jam:
    """A street blocked for a while; `at_m` float64[lines] says where a line meets it, NaN if it does not."""

    core: Floats
    at_m: Floats
    first_step: int
    last_step: int
    hold_steps: int


@dataclass
class Fleet:
    """All buses at one step, arrays [buses]; `held` is the number of the jam a bus waits in, or -1."""

    line: Ints
    at_m: Floats
    heading: Ints
    bay_m: Floats  # how far before the end of the line it turns and rests
    held: Ints
    leaves: Ints  # the step at which a held bus goes on
    rests: Ints  # the step until which a bus stays at the end of its line


def lay_streets(rng: Generator) -> tuple[Floats, Ints]:
    """The crossings, float64[hubs, 2], and int64[hubs, hubs]: where to turn at hub i on the best way to j."""
    hubs = CENTRE[None]
    for spot in rng.uniform(CENTRE - HALF_SIZE, CENTRE + HALF_SIZE, size=(4_000, 2)):
        is_apart = np.hypot(*(hubs - spot).T).min() > 380 + 0.11 * np.hypot(*(spot - CENTRE))
        if is_apart and np.hypot(*((spot - CENTRE) / HALF_SIZE)) < 1:
            hubs = np.vstack([hubs, spot])
    apart = np.hypot(*(hubs[:, None] - hubs[None]).T)
    # No third hub lies in the circle between two joined ones (Gabriel): all are reached, no streets cross.
    others = np.where(np.eye(len(hubs)), np.inf, apart) ** 2
    is_street = (others[:, None] + others[None]).min(axis=2) >= apart**2
    ease = np.triu(rng.uniform(0.35, 0.7, apart.shape))  # some streets draw lines to them, some repel
    cost = np.where(is_street, apart * (ease + ease.T), np.inf)
    hops = np.broadcast_to(np.arange(len(hubs)), cost.shape).copy()
    for via in range(len(hubs)):  # Floyd-Warshall
        detour = cost[:, via, None] + cost[None, via, :]
        hops = np.where(detour < cost, hops[:, via, None], hops)
        cost = np.minimum(cost, detour)
    return hubs, hops


def choose_way(hubs: Floats, hops: Ints, number: int, rng: Generator) -> list[int]:
    """Hubs from one edge of the city to the other, through the centre or, each fifth line, beside it."""
    out = (hubs - CENTRE) / HALF_SIZE
    reach = np.hypot(*out.T)
    edge = np.flatnonzero(reach > 0.7)
    start = int(edge[number * 17 % len(edge)])
    likeness = out @ out[start] / np.maximum(reach * reach[start], 1e-9)  # cosine of the angle between
    end = int(edge[(likeness[edge] + rng.uniform(0, 0.9, len(edge))).argmin()])
    beside = np.abs(likeness) + np.abs(reach - 0.45) + rng.uniform(0, 0.2, len(hubs))
    middle = int(beside.argmin()) if number % 5 == 4 else int(rng.choice(reach.argsort()[:7]))
    way = [start]
    for stop in (middle, end):
        while way[-1] != stop:
            way.append(int(hops[way[-1], stop]))
    return way


def trace_course(corners: Floats, rng: Generator) -> Floats:
    """Round the corners (Chaikin), stop short of the last hubs so that lines end apart, go in even steps."""
    for _ in range(2):
        cuts = [0.75 * corners[:-1] + 0.25 * corners[1:], 0.25 * corners[:-1] + 0.75 * corners[1:]]
        corners = np.vstack([corners[:1], np.stack(cuts, axis=1).reshape(-1, 2), corners[-1:]])
    gone = np.append(0, np.hypot(*np.diff(corners, axis=0).T).cumsum())
    marks = np.arange(rng.uniform(30, 300), gone[-1] - rng.uniform(30, 300), SPACING_M)
    return np.stack([np.interp(marks, gone, corners[:, axis]) for axis in (0, 1)], axis=1)


def lay_lines(count: int, rng: Generator) -> tuple[Lines, Floats]:
    """The lines, and the middles of the streets they use, float64[uses, 2]: as often as lines use them."""
    hubs, hops = lay_streets(rng)
    courses, middles = [], []
    for number in range(count):
        while len(set(way := choose_way(hubs, hops, number, rng))) < len(way):
            pass  # it drove into a street and back out of it
        courses.append(trace_course(hubs[way], rng))
        middles.append((hubs[way[1:]] + hubs[way[:-1]]) / 2)
    points = np.array([len(course) for course in courses])
    ends = points.max() + 1 - points  # one more than the longest: every place has a next one
    padded = [np.pad(one, ((0, end), (0, 0)), mode="edge") for one, end in zip(courses, ends, strict=True)]
    return Lines(course=np.stack(padded), length_m=(points - 1) * SPACING_M), np.vstack(middles)


def plan_jams(lines: Lines, middles: Floats, buses: int, rng: Generator) -> list[Jam]:
    """Block streets, far from one another, that get the traffic for a queue of twenty buses or more.

    A queue stands in the middle of a 10 m cell of the plan, so that a plain grid sees it as one.
    """
    streets, uses = np.unique(middles.round(3), axis=0, return_counts=True)
    round_trip_min = 2 * lines.length_m.mean() / 5.0 / 60 + 11
    arrivals = uses * 2 * buses / len(lines.length_m) / round_trip_min
    jams: list[Jam] = []
    for place in streets[np.abs(arrivals - JAM_ARRIVALS_PER_MINUTE).argsort(kind="stable")]:
        number = len(jams)
        if number == len(JAM_START_H) or any(np.hypot(*(place - jam.core)) < JAM_DISTANCE_M for jam in jams):
            continue
        apart = np.hypot(*(lines.course - place).transpose(2, 0, 1))
        at_m = np.where(apart.min(axis=1) < SPACING_M, apart.argmin(axis=1) * SPACING_M, np.nan)
        first = int((JAM_START_H[number] - 6 + rng.uniform(-0.1, 0.1)) * STEPS_PER_HOUR)
        last, hold = first + 3 * JAM_MINUTES[number], 3 * JAM_HOLD_MINUTES[number]
        jams.append(Jam(np.floor(place / 10) * 10 + 5, at_m, first_step=first, last_step=last, hold_steps=hold))
    return jams


def plan_service(buses: int, rng: Generator) -> tuple[Ints, Ints]:
    """First step and step after the last, int64[buses]: out from 06:00 to 09:00, in from 19:00 to 03:00."""
    first = (rng.beta(1.3, 2.2, buses) * 3 * STEPS_PER_HOUR).astype(np.int64)
    last = STEPS - (rng.beta(2, 2, buses) * 8 * STEPS_PER_HOUR).astype(np.int64)
    first[rng.integers(buses)], last[rng.integers(buses)] = 0, STEPS
    return first, last


def line_up_fleet(lines: Lines, first: Ints, rng: Generator) -> Fleet:
    """Spread the buses evenly over the lines, each at one end, resting until its service starts."""
    line = rng.permutation(np.arange(len(first)) % len(lines.length_m))
    heading = rng.choice(np.array([-1, 1]), len(first))
    bay_m = rng.uniform(0, 150, len(first))
    at_m = np.where(heading > 0, bay_m, lines.length_m[line] - bay_m)
    held = np.full_like(first, -1)
    return Fleet(line, at_m, heading, bay_m, held=held, leaves=first.copy(), rests=first.copy())


def plan_mishaps(first: Ints, last: Ints, rng: Generator) -> tuple[Floats, Flags]:
    """Seconds added to a bus's delay and whether it stands still, arrays [steps, buses].

    A breakdown is at least five rising reports, then a jump: the time for repair is booked.  A rebooking is
    the jump alone, after a fall: what a search for jumps finds and a search for the pattern must not.
    """
    added, stands = np.zeros((STEPS, len(first))), np.zeros((STEPS, len(first)), np.bool_)
    chosen = rng.choice(len(first), BREAKDOWNS + REBOOKINGS, replace=len(first) < BREAKDOWNS + REBOOKINGS)
    for number, bus in enumerate(chosen):
        jump_at = int(rng.integers(first[bus] + 30, last[bus] - 60))
        added[jump_at, bus] = rng.uniform(170, 420)
        if number < BREAKDOWNS:
            rising = int(rng.integers(5, 8))
            added[jump_at - rising : jump_at, bus] = rng.uniform(35, 55, rising)
            stands[jump_at - rising : jump_at + int(rng.integers(20, 50)), bus] = True
        else:
            added[jump_at - 1, bus] = -60
    return added, stands


def rush(step: int) -> float:
    """How far into a rush hour the city is, 0 to 1: peaks at 08:30 and 17:30."""
    hour = 6 + step / STEPS_PER_HOUR
    return float(np.exp(-(((hour - 8.5) / 1.1) ** 2)) + np.exp(-(((hour - 17.5) / 1.5) ** 2)))


def enter_jams(fleet: Fleet, jams: list[Jam], step: int, gone_m: Floats, rng: Generator) -> Floats:
    """Slow down `gone_m` near a jam and hold buses that reach its core; the seconds each bus loses by it."""
    losing_s = np.where(fleet.held >= 0, STEP_S, 0.0)
    for number, jam in enumerate(jams):
        if jam.first_step <= step < jam.last_step:
            ahead = (jam.at_m[fleet.line] - fleet.at_m) * fleet.heading
            is_near = (ahead > 0) & (ahead < JAM_RADIUS_M)
            gone_m[is_near] *= CRAWL
            losing_s[is_near] = STEP_S * (1 - CRAWL)
            arrives = is_near & (gone_m >= ahead)
            gone_m[arrives] = ahead[arrives]
            fleet.held[arrives] = number
            thaw = jam.last_step + rng.integers(0, 6, arrives.sum())
            fleet.leaves[arrives] = np.minimum(step + jam.hold_steps, thaw)
    return losing_s


def drive(
    fleet: Fleet, length_m: Floats, jams: list[Jam], added_s: Floats, stands: Flags, rng: Generator
) -> tuple[Floats, Ints, Ints, Floats]:
    """Move all buses step by step; `at_m`, `heading`, `held` and seconds late, arrays [steps, buses]."""
    buses, journal = len(fleet.line), []
    noise, lost_s, habit = rng.normal(0, 40, buses), np.zeros(buses), rng.uniform(0.7, 1.3, buses)
    for step in range(STEPS):
        speed = MOVING_M_PER_S * (1 - 0.25 * rush(step)) * rng.lognormal(0, 0.2, buses)
        driving_s = STEP_S - 15 * (rng.random(buses) < 0.3)  # the rest of the step it stands at a stop
        gone_m = np.minimum(speed, TOP_M_PER_S) * driving_s
        fleet.held[(fleet.held >= 0) & (fleet.leaves <= step)] = -1
        gone_m[(fleet.rests > step) | (fleet.held >= 0) | stands[step]] = 0
        losing_s = enter_jams(fleet, jams, step, gone_m, rng)
        fleet.at_m += gone_m * fleet.heading
        has_ended = np.where(fleet.heading > 0, length_m - fleet.at_m, fleet.at_m) <= fleet.bay_m
        fleet.rests[has_ended] = step + rng.integers(9, 24, has_ended.sum())  # 3 to 8 minutes
        fleet.heading[has_ended] *= -1
        fleet.at_m = fleet.at_m.clip(fleet.bay_m, length_m - fleet.bay_m)
        lost_s = (lost_s + losing_s) * np.where((losing_s > 0) | stands[step], 1, RECOVERY) + added_s[step]
        noise = NOISE_KEPT * noise + rng.normal(0, NOISE_STEP_S, buses)
        late_s = habit * (30 + 110 * rush(step)) + noise + lost_s
        journal.append((fleet.at_m.copy(), fleet.heading.copy(), fleet.held.copy(), late_s))
    at_m, heading, held, delay_s = (np.stack(column) for column in zip(*journal, strict=True))
    return at_m, heading, held, delay_s


def locate(lines: Lines, line: Ints, at_m: Floats, held: Ints, jams: list[Jam], rng: Generator) -> Floats:
    """Reported positions, float64[n, 2]: on the line's course, or within a few metres of the jam's core."""
    below = (at_m / SPACING_M).astype(np.int64)
    share = (at_m / SPACING_M - below)[:, None]
    places: Floats = lines.course[line, below] * (1 - share) + lines.course[line, below + 1] * share
    for number, jam in enumerate(jams):
        queue = np.flatnonzero(held == number)
        places[queue] = jam.core + rng.uniform(-2.5, 2.5, (len(queue), 2))
    places += rng.normal(0, GPS_NOISE_M, places.shape)
    return places


def generate_feed(seed: int = 7, buses: int = 911, lines: int = 67) -> pa.Table:
    """The day's reports in time order: ts, bus, line, direction (0 out, 1 back), x, y, delay."""
    rng = np.random.default_rng(seed)
    city, middles = lay_lines(lines, rng)
    jams = plan_jams(city, middles, buses, rng)
    first, last = plan_service(buses, rng)
    fleet = line_up_fleet(city, first, rng)
    added_s, stands = plan_mishaps(first, last, rng)
    at_m, heading, held, delay_s = drive(fleet, city.length_m[fleet.line], jams, added_s, stands, rng)
    steps = np.arange(STEPS)[:, None]
    reports = np.nonzero((steps >= first) & (steps < last))  # by step, then bus
    line = fleet.line[reports[1]]
    places = locate(city, line, at_m[reports], held[reports], jams, rng)
    phase_us = np.sort(rng.integers(0, STEP_S * 1_000, buses)) * 1_000  # buses are numbered by it, so far
    ts = (START_S + reports[0] * STEP_S) * 1_000_000 + phase_us[reports[1]]
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "bus": pa.array((rng.permutation(buses) + 1)[reports[1]], pa.int32()),
            "line": pa.array(line + 1, pa.int32()),
            "direction": pa.array((heading[reports] < 0).astype(np.int8)),
            "x": pa.array(places[:, 0].round(1)),
            "y": pa.array(places[:, 1].round(1)),
            "delay": pa.array(delay_s[reports].round()),
        }
    )


def write_feed(table: pa.Table, directory: Path, files: int = 21) -> None:
    """Parquet files of equal spans, modified when their span ended: Spark takes them in that order."""
    directory.mkdir(parents=True, exist_ok=True)
    ts, cut = table.column("ts").cast(pa.int64()).to_numpy(), 0
    for number in range(files):
        end_s = START_S + STEPS * STEP_S * (number + 1) // files
        rows = int(np.searchsorted(ts, end_s * 1_000_000)) - cut
        path = directory / f"reports-{number:03d}.parquet"
        pq.write_table(table.slice(cut, rows), path)
        os.utime(path, (end_s, end_s))
        cut += rows
