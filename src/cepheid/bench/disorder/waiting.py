"""How long rules wait that follow the stream, and how many events come later than that: the rows of one table.

    scenario ─▶ events as they arrive ─▶ each rule of WAITS ─▶ mean wait, share of late events
                                     └─▶ oracle: the shortest fixed wait with as few late events, chosen afterwards

An event is late if its time is behind the watermark when it arrives: the highest that clock less wait ever was before.
Each event counts as a result, so what `recall` asks for is a share of events here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheid.bench.disorder.played_events import PlayedEvents, generate
from cepheid.bench.disorder.scenario import load_scenario
from cepheid.disorder.waits.kinds import WAITS, make_wait
from cepheid.disorder.waits.wait import Wait
from cepheid.event_time import BEGINNING
from cepheid.settings import Waiting

ROWS = ("exponential", "log-normal", "pareto-1.5", "pareto-1.1", "zipf", "uniform", "outage", "drift")
GOAL = 0.999
RECALLS = {"quantile": (0.99, GOAL), "recall": (GOAL,)}  # of rules that are asked for a share
WANTED = ("growing", "maximum", "quantile", "recall")
PUSH = 64  # events that a rule sees together
SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Waited:
    """mean_us: of the wait, over the events; late: the share of the events that came later than that."""

    mean_us: float
    late: float


def list_rules() -> dict[str, Waiting]:
    """By name of the column: those that there are, and that follow the stream."""
    found: dict[str, Waiting] = {}
    for rule in WAITS:
        if rule == "fixed":
            continue
        for recall in RECALLS.get(rule, (GOAL,)):
            name = f"{rule} {recall}" if rule in RECALLS else rule
            found[name] = Waiting(rule=rule, recall=recall)
    return found


def list_missing() -> list[str]:
    """Rules that the table is meant to have, and that there are not."""
    return [name for name in WANTED if name not in WAITS]


def measure_waiting(events: int, advance: Callable[[], object]) -> dict[str, Any]:
    """events: of each scenario.  advance: a row is done."""
    rows: dict[str, Any] = {}
    for name in ROWS:
        scenario = replace(load_scenario(name), events=events)
        rows[scenario.title] = measure_row(generate(scenario), list_rules())
        advance()
    return {"events": events, "push": PUSH, "goal": GOAL, "missing": list_missing(), "rows": rows}


def measure_row(events: PlayedEvents, rules: dict[str, Waiting]) -> dict[str, Any]:
    lateness = events.measure_lateness_ns() // 1000
    p99, p999 = np.quantile(lateness, [0.99, 0.999])
    oracle = float(np.quantile(lateness, GOAL, method="higher"))
    found: dict[str, Any] = {
        "out_of_order": round(float((lateness > 0).mean()), 4),
        "p99_s": round(float(p99) / SECOND_US, 3),
        "p999_s": round(float(p999) / SECOND_US, 3),
        "max_s": round(float(lateness.max()) / SECOND_US, 3),
        "oracle_s": round(oracle / SECOND_US, 3),
        "rules": {},
    }
    for name, waiting in rules.items():
        waited = follow(make_wait(waiting), events)
        found["rules"][name] = {
            "mean_s": round(waited.mean_us / SECOND_US, 3),
            "late": waited.late,
            "of_oracle": round(waited.mean_us / oracle, 2) if oracle else None,
            "of_goal": round(waited.late / (1 - waiting.recall), 2) if waiting.rule in RECALLS else None,
        }
    return found


def follow(rule: Wait, events: PlayedEvents, push: int = PUSH) -> Waited:
    """What a rule waits for, and what comes later than that.  push: events that it sees together."""
    times, late, total, mark = events.times_us, 0, 0.0, BEGINNING
    clock = np.maximum.accumulate(times)
    for begin, end in _cut(len(times), push):
        slack = rule.slack_us
        marks = np.maximum.accumulate(np.concatenate([[mark], clock[begin:end] - slack]))
        late += int((times[begin:end] < marks[:-1]).sum())
        total += float(slack) * (end - begin)
        mark = int(marks[-1])
        rule.see(times[begin:end], events.sources[begin:end])
    return Waited(total / max(1, len(times)), late / max(1, len(times)))


def _cut(count: int, push: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(count, begin + push)) for begin in range(0, count, push))
