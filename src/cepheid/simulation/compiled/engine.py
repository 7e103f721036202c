"""The array engine: builds the tables, gives each thread its machines, and calls the kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import numpy as np

from cepheid.errors import NotSupportedYet
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.clock import Tick
from cepheid.simulation.compiled.amounts import Amounts, ArrivalSource
from cepheid.simulation.compiled.carrying import carry_over, clear_queue, join_pools, reroute, update_delays
from cepheid.simulation.compiled.counts import TallyArrays, arrays_of
from cepheid.simulation.compiled.lanes import Lane, divide_work, find_groups, join_work
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_LATE, TOO_MANY, grow_pool
from cepheid.simulation.compiled.tables import Floats, Tables, TickTable
from cepheid.simulation.compiled.tabulate import fill_run_queues, tabulate
from cepheid.simulation.layout import PRODUCER, WINDOW, Layout
from cepheid.simulation.reference.schedulers import SCHEDULERS
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.tally import Tally

ERRORS = {
    TOO_MANY: "more events were asked of a queue than it holds",
    TOO_LATE: "a slice ended after the last minute that is counted",
}


class CompiledEngine:
    """The twin of ReferenceEngine: the same tally, bit for bit."""

    def __init__(self, scenario: Scenario, layout: Layout, ticks: list[Tick]) -> None:
        self.kernel = find_kernel(scenario)
        self.ticks = ticks
        self.scenario, self.layout = scenario, layout
        self.tally = Tally.of(scenario, layout, ticks[-1])
        self.tally.grow(layout)
        self.counts: TallyArrays = arrays_of(self.tally)
        self.tick_table = _make_tick_table(scenario, ticks)
        self.amounts = Amounts(ticks)
        self.tables: Tables = tabulate(scenario, layout)
        self._begin_vertices(0)
        fill_run_queues(self.tables)
        self.threads = os.cpu_count() or 1
        self.lanes = divide_work(layout, find_groups(layout, self.tables.edges["link"]), self.threads)

    def run(self, first: int, last: int) -> None:
        """Ticks first..last-1."""
        while first < last:
            upto = min(last, first + self.amounts.most_ticks(self.scenario))
            self.amounts.fill(self.scenario, first, upto)
            self.tables = self.tables._replace(amounts=self.amounts.table)
            self.tables.first_amount[0] = self.amounts.first
            self._run_lanes(first, upto)
            first = upto
        self._count_dropped()

    def adopt(self, scenario: Scenario, layout: Layout, tick: int) -> None:
        """Go on with other placements from that tick; vertices keep their numbers and what they hold, new ones may
        follow them."""
        self._join_lanes(layout)
        old, self.tables = self.tables, tabulate(scenario, layout)
        self.scenario, self.layout = scenario, layout
        carry_over(old, self.tables)
        update_delays(self.tables)
        self.tally.grow(layout)
        self.counts = arrays_of(self.tally)
        self.tick_table = _make_tick_table(scenario, self.ticks)
        self._begin_vertices(tick)
        self.lanes = [Lane(join_work(layout), self.lanes[0].pool)]
        reroute(self.tables, self.counts, self.lanes[0].pool)
        fill_run_queues(self.tables)

    def discard(self, vertices: Iterable[int]) -> None:
        """Empty what these vertices hold; it counts as dropped."""
        self._join_lanes(self.layout)
        for number in vertices:
            self.tally.dropped[number] += self._discard_one(number)

    def block(self, vertex: int, until_ms: float) -> None:
        self.tables.vertices["blocked_until"][vertex] = until_ms
        update_delays(self.tables)

    def halt(self, vm: int, until_ms: float) -> None:
        self.tables.places["halted_until"][np.array(self.layout.vm) == vm] = until_ms

    def waiting(self) -> Floats:
        """Events in the queues of each vertex, now."""
        waiting: Floats = self.tables.vertices["total"].copy()
        waiting[self.tables.vertices["kind"] == WINDOW] += self.tables.queues["size"][self.tables.windows["unsent"]]
        return waiting

    def _run_lanes(self, first: int, last: int) -> None:
        def run_lane(lane: Lane) -> None:
            state = lane.groups.state
            state[:] = 0
            state["tick"] = first
            while not self.kernel(self.tables, self.counts, self.tick_table, lane.groups, lane.pool, first, last):
                lane.pool = grow_pool(lane.pool)

        if len(self.lanes) == 1:
            run_lane(self.lanes[0])
        else:
            with ThreadPoolExecutor(self.threads) as threads:
                list(threads.map(run_lane, self.lanes))
        for lane in self.lanes:
            error = int(lane.pool.state[ERROR])
            assert error not in ERRORS, ERRORS[error]
        for tick in self.ticks[first:last]:
            if int(tick.start_s) != int(tick.end_s):
                self.tally.looks[int(tick.start_s / 60.0)] += 1

    def _count_dropped(self) -> None:
        for kind, rows in ((PRODUCER, self.tables.producers), (WINDOW, self.tables.windows)):
            self.tally.dropped[self.tables.vertices["kind"] == kind] += rows["dropped"]
            rows["dropped"] = 0.0

    def _begin_vertices(self, tick: int) -> None:
        """Producers and windows that run from now on: the first time that they are placed, their time begins."""
        layout, vertices = self.layout, self.tables.vertices
        begin = (vertices["place"] != NONE) & (vertices["has_begun"] == 0)
        vertices["has_begun"][begin] = 1
        windows = vertices["row"][begin & (vertices["kind"] == WINDOW)]
        self.tables.windows["close_at"][windows] = (
            self.ticks[tick].start_s * 1000.0 + self.tables.windows["advance"][windows]
        )
        producers = np.flatnonzero(begin & (vertices["kind"] == PRODUCER))
        rows, places = vertices["row"][producers], vertices["place"][producers]
        self.tables.producers["begins"][rows] = tick * self.scenario.iterations
        self.tables.producers["capacity"][rows] = layout.capacity[places]
        self.tables.producers["pes"][rows] = layout.pes[places]
        for vertex, row, place in zip(producers, rows, places, strict=True):
            arrivals = layout.instances[vertex].vertex.arrivals
            if type(arrivals) is not Uniform:
                self.tables.producers["amounts"][row] = len(self.amounts.sources)
                copy, capacity, pes = layout.instances[vertex].copy, layout.capacity[place], layout.pes[place]
                self.amounts.sources.append(
                    ArrivalSource(layout.arrivals(int(vertex)), copy, tick, float(capacity), int(pes))
                )

    def _join_lanes(self, layout: Layout) -> None:
        """What changes while it runs may bring together any machines, so from then on they run as one."""
        pool = join_pools(self.lanes, self.tables, int(layout.width.max(initial=1)))
        self.lanes = [Lane(join_work(self.layout), pool)]

    def _discard_one(self, number: int) -> float:
        tables, pool = self.tables, self.lanes[0].pool
        vertex = tables.vertices[number]
        lost = float(vertex["total"])
        for place in range(vertex["inputs"], vertex["inputs_end"]):
            edge = int(tables.inputs[place])
            clear_queue(tables, pool, edge)
            if tables.edges["queue"][edge] > 0.0:
                tables.edges["limit"][edge] = tables.edges["queue"][edge]
        tables.vertices["total"][number] = 0.0
        if vertex["kind"] == WINDOW:
            window = tables.windows[vertex["row"]]
            lost += float(tables.queues["size"][window["unsent"]])
            clear_queue(tables, pool, int(window["unsent"]))
            count = int(window["count"]) * int(vertex["inputs_end"] - vertex["inputs"])
            slots = slice(int(window["first"]), int(window["first"]) + count)
            for size in tables.slots["size"][slots]:
                lost += float(size)
            tables.slots[slots] = 0
            first = int(window["first_total"])
            tables.slot_totals[first : first + count * int(vertex["width"])] = 0.0
        return lost


def find_kernel(scenario: Scenario) -> Callable[..., bool]:
    scheduler = SCHEDULERS.get(scenario.scheduler)
    if scheduler is None or scenario.fidelity not in scheduler.kernels:
        what = f'scheduler "{scenario.scheduler}" with fidelity "{scenario.fidelity}" in the compiled engine'
        raise NotSupportedYet(what, hint='use engine "reference"')
    module, _, name = scheduler.kernels[scenario.fidelity].partition(":")
    kernel: Callable[..., bool] = getattr(import_module(module), name)
    return kernel


def _make_tick_table(scenario: Scenario, ticks: list[Tick]) -> TickTable:
    return TickTable(
        start_s=np.array([tick.start_s for tick in ticks]),
        end_s=np.array([tick.end_s for tick in ticks]),
        surplus_s=np.array([tick.surplus_s for tick in ticks]),
        iterations=scenario.iterations,
        once_each=SCHEDULERS[scenario.scheduler].once_each,
        network_delay_s=float(scenario.network_delay_s),
        batch_interval_ms=scenario.micro_batch.interval_s * 1000.0,
        batch_overhead_ms=scenario.micro_batch.overhead_s * 1000.0,
        batch_most=float(scenario.micro_batch.max_events),
    )
