"""A tick of a placement that runs as Spark does: in micro-batches.

At a trigger all events that have arrived become a batch.  A batch costs its overhead, then each vertex, in placement
order, works on all that is there for it, on all processors together; what comes meanwhile waits for the next batch.
Queues have no bounds within a batch. A batch that is not done when the tick ends continues in the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cepheid.simulation.clock import Tick
from cepheid.simulation.reference.placement import PlacementRun
from cepheid.simulation.reference.producer import ProducerRun
from cepheid.simulation.reference.scheduling import WORTH_RUNNING, Scheduler
from cepheid.simulation.reference.slices import Slice
from cepheid.simulation.reference.window import WindowRun
from cepheid.simulation.scenario import MicroBatch, Scenario

IDLE = -1
ROUNDING_MS = 1e-6  # times of ticks are added up


@dataclass(slots=True)
class BatchState:
    """stage: the vertex that is being run, by its place in the order.  quota: what is left of the batch at each
    producer."""

    stage: int = IDLE
    overhead: float = 0.0  # instructions
    next_trigger: float = 0.0
    quota: dict[int, float] = field(default_factory=dict)


def run_in_batches(placement: PlacementRun, tick: Tick, scenario: Scenario) -> None:
    if placement.scheduler_state is None:
        placement.scheduler_state = BatchState()
    state: BatchState = placement.scheduler_state
    if placement.is_rearranged:
        state.stage = IDLE  # a batch under way starts again with what is still waiting
        placement.is_rearranged = False
    speed = placement.capacity * placement.pes * 1000.0
    for each in placement.iterations(tick, scenario):
        if each.start >= placement.halted_until:
            _run_iteration(placement, each.amount, each.start, speed, scenario.micro_batch, state)


def _run_iteration(
    placement: PlacementRun, left: float, now: float, speed: float, settings: MicroBatch, state: BatchState
) -> None:
    while left > 0.0:
        if state.stage == IDLE:
            placement.receive_until(now)
            if now + ROUNDING_MS < state.next_trigger or not _has_work(placement, now):
                return
            _begin(placement, settings, state, now, speed)
            continue
        if state.overhead > 0.0:
            used = min(state.overhead, left)
            now, left, state.overhead = now + used / speed, left - used, state.overhead - used
            placement.use(placement.number, used, now)
            continue
        if state.stage == len(placement.members):
            state.stage = IDLE
            continue
        used = _run_stage(placement, state, left, now, speed)
        now, left = now + used / speed, left - used


def _has_work(placement: PlacementRun, now: float) -> bool:
    return any(
        member.blocked_until <= now
        and (member.run.needed() > WORTH_RUNNING or (isinstance(member.run, WindowRun) and member.run.is_due(now)))
        for member in placement.members
    )


def _begin(placement: PlacementRun, settings: MicroBatch, state: BatchState, now: float, speed: float) -> None:
    state.stage = 0
    state.overhead = settings.overhead_s * 1000.0 * speed
    if settings.interval_s > 0.0:
        interval = settings.interval_s * 1000.0
        state.next_trigger = (math.floor((now + ROUNDING_MS) / interval) + 1.0) * interval
    most = settings.max_events if settings.max_events > 0.0 else float("inf")
    state.quota = {
        member.number: min(member.run.queue.size, most)
        for member in placement.members
        if isinstance(member.run, ProducerRun)
    }


def _run_stage(placement: PlacementRun, state: BatchState, left: float, now: float, speed: float) -> float:
    """Work on one vertex; the next one follows when nothing of the batch is left for it."""
    member = placement.members[state.stage]
    run = member.run
    needed = state.quota[member.number] * run.ipe if isinstance(run, ProducerRun) else run.needed()
    is_due = isinstance(run, WindowRun) and run.is_due(now)
    if member.blocked_until > now or not (needed > WORTH_RUNNING or is_due):
        state.stage += 1
        return 0.0
    used = min(max(needed, 0.0), left)
    piece = Slice(state.stage, now, now + used / speed, used)
    for message in placement.carry_out(member, piece):
        placement.enter(message)
    if isinstance(run, ProducerRun):
        state.quota[member.number] -= used / run.ipe
    if used >= needed:
        state.stage += 1
    return used


def _longest_wait_s(scenario: Scenario) -> float:
    """One batch waits while the one before it runs."""
    return 2.0 * (scenario.micro_batch.interval_s + scenario.micro_batch.overhead_s)


MICRO_BATCH = Scheduler(
    run_tick=run_in_batches,
    kernels={"corrected": "cepheid.simulation.compiled.micro_batch:run_in_batches"},
    bounds="none",
    lag_s=_longest_wait_s,
)
