"""A layout as the records of tables.py, nothing waiting anywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.compiled.pool import NONE
from cepheid.simulation.compiled.queues import QUEUE
from cepheid.simulation.compiled.tables import (
    EDGE,
    LOCAL,
    PLACE,
    PROCESSOR,
    PRODUCER_ROW,
    REMOTE,
    SLOT,
    VERTEX,
    WINDOW_ROW,
    Floats,
    Ints,
    Records,
    Tables,
)
from cepheid.simulation.layout import CONSUMER, PRODUCER, WINDOW, Layout
from cepheid.simulation.network import build_network
from cepheid.simulation.scenario import Scenario

UNLIMITED = 9.223372036854775807e18  # see reference/ports.py
WORD_BITS = 64
LONG_AGO = -2  # an iteration that no other follows


def tabulate(scenario: Scenario, layout: Layout) -> Tables:
    producers, windows, consumers = (np.flatnonzero(layout.kind == kind) for kind in (PRODUCER, WINDOW, CONSUMER))
    vertices = _tabulate_vertices(layout)
    edges, latency_ms, ms_per_byte = _tabulate_edges(scenario, layout, producers)
    inputs, outputs = _connect(layout, vertices, producers)
    window_rows, slots, slot_totals = _tabulate_windows(layout, windows)
    queues = np.zeros(len(edges) + len(windows) + int((edges["sent"] != NONE).sum()), QUEUE)
    queues["head"] = queues["tail"] = NONE
    window_rows["unsent"] += len(edges)
    edges["sent"][edges["sent"] != NONE] += len(edges) + len(windows)
    places, order, sources, run_queue = _tabulate_places(layout, vertices)
    processors = np.zeros(int(layout.pes.sum()), PROCESSOR)
    processors["vertex"] = NONE
    return Tables(
        vertices=vertices,
        edges=edges,
        queues=queues,
        producers=_tabulate_producers(layout, producers),
        windows=window_rows,
        slots=slots,
        slot_totals=slot_totals,
        places=places,
        processors=processors,
        inputs=inputs,
        outputs=outputs,
        order=order,
        sources=sources,
        run_queue=run_queue,
        paths=np.concatenate([np.zeros(0), *(layout.paths[int(vertex)] for vertex in consumers)]),
        paths_of=np.concatenate([[0], np.cumsum(layout.width[consumers])]).astype(np.int64),
        latency_ms=latency_ms,
        ms_per_byte=ms_per_byte,
        free_at=np.zeros(len(latency_ms)),
        amounts=np.zeros((1, 1)),
        first_amount=np.zeros(1, np.int64),
    )


def _tabulate_vertices(layout: Layout) -> Records:
    vertices = np.zeros(len(layout.instances), VERTEX)
    vertices["kind"], vertices["place"] = layout.kind, layout.placement
    vertices["width"], vertices["slot"] = layout.width, layout.slot
    vertices["part"], vertices["whole"] = layout.part, layout.whole
    vertices["ipe"] = [instance.vertex.ipe for instance in layout.instances]
    for kind in range(4):
        members = np.flatnonzero(layout.kind == kind)
        vertices["row"][members] = np.arange(len(members))
    return vertices


def _connect(layout: Layout, vertices: Records, producers: npt.NDArray[np.intp]) -> tuple[Ints, Ints]:
    """The lists of inputs and outputs; a producer has the edge of its own as input."""
    inputs_of = list(layout.inputs_of)
    for number, vertex in enumerate(producers):
        inputs_of[vertex] = [len(layout.source) + number]
    inputs, vertices["inputs"], vertices["inputs_end"] = _flatten(inputs_of)
    outputs, vertices["outputs"], vertices["outputs_end"] = _flatten(layout.outputs_of)
    return inputs, outputs


def _flatten(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints, Ints]:
    """All of them in a row, and where each begins and ends."""
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    ends = np.cumsum(lengths)
    flat = np.fromiter((item for each in lists for item in each), np.int32, int(lengths.sum()))
    return flat, (ends - lengths).astype(np.int32), ends.astype(np.int32)


def _tabulate_edges(
    scenario: Scenario, layout: Layout, producers: npt.NDArray[np.intp]
) -> tuple[Records, Floats, Floats]:
    count = len(layout.source)
    edges = np.zeros(count + len(producers), EDGE)
    edges["source"][:count], edges["target"][:count] = layout.source, layout.target
    edges["source"][count:], edges["target"][count:] = NONE, producers
    edges["selectivity"] = 1.0
    edges["selectivity"][:count] = layout.selectivity
    queue = np.array([instance.vertex.queue for instance in layout.instances], np.float64)
    edges["queue"][:count] = queue[layout.target]
    edges["limit"] = np.where(edges["queue"] > 0.0, edges["queue"], UNLIMITED)
    edges["rank"][:count] = layout.rank[layout.source]
    edges["bytes"][:count] = np.array([instance.vertex.bytes for instance in layout.instances])[layout.source]
    here, there = layout.placement[layout.source], layout.placement[layout.target]
    edges["way"][:count] = np.where(here == there, LOCAL, REMOTE)
    network = build_network(scenario)
    edges["link"] = NONE
    if scenario.links:
        vm = np.array(layout.vm, np.int64)
        both = np.flatnonzero((here != there) & (here >= 0) & (there >= 0))
        edges["link"][both] = network.link[vm[here[both]], vm[there[both]]]
    edges["sent"] = NONE
    of_windows = np.flatnonzero(layout.kind[layout.source] == WINDOW)
    edges["sent"][of_windows] = np.arange(len(of_windows))
    return edges, network.latency_ms, network.ms_per_byte


def _tabulate_producers(layout: Layout, producers: npt.NDArray[np.intp]) -> Records:
    rows = np.zeros(len(producers), PRODUCER_ROW)
    vertices = [layout.instances[vertex].vertex for vertex in producers]
    rows["rate"] = [v.arrivals.rate_per_s if isinstance(v.arrivals, Uniform) else 0.0 for v in vertices]
    rows["limited"] = [vertex.limited for vertex in vertices]
    rows["sheds"] = [vertex.sheds for vertex in vertices]
    rows["amounts"], rows["asked"] = NONE, LONG_AGO
    rows["edge"] = len(layout.source) + np.arange(len(producers))
    return rows


def _tabulate_windows(layout: Layout, windows: npt.NDArray[np.intp]) -> tuple[Records, Records, Floats]:
    rows = np.zeros(len(windows), WINDOW_ROW)
    vertices = [layout.instances[number].vertex for number in windows]
    advance = np.array([vertex.advance_s * 1000.0 for vertex in vertices], np.float64)
    rows["advance"], rows["close_at"] = advance, np.inf
    rows["output"] = [-1.0 if vertex.output is None else vertex.output for vertex in vertices]
    rows["limits_output"] = [vertex.limits_output for vertex in vertices]
    rows["count"] = [int(vertex.window_s * 1000.0 / (vertex.advance_s * 1000.0)) for vertex in vertices]
    slots = rows["count"].astype(np.int64) * [len(layout.inputs_of[number]) for number in windows]
    totals = slots * layout.width[windows]
    rows["first"], rows["first_total"] = np.cumsum(slots) - slots, np.cumsum(totals) - totals
    rows["unsent"] = np.arange(len(windows))
    return rows, np.zeros(int(slots.sum()), SLOT), np.zeros(int(totals.sum()))


def _tabulate_places(layout: Layout, vertices: Records) -> tuple[Records, Ints, Ints, npt.NDArray[np.uint64]]:
    places = np.zeros(len(layout.order), PLACE)
    places["capacity"], places["pes"] = layout.capacity, layout.pes
    places["processors"] = np.cumsum(layout.pes) - layout.pes
    places["last_asked"] = np.nan
    places["batch_stage"] = places["first_message"] = places["last_message"] = NONE
    order, places["order"], places["order_end"] = _flatten(layout.order)
    lengths = places["order_end"] - places["order"]
    vertices["position"] = NONE
    vertices["position"][order] = np.arange(len(order)) - np.repeat(places["order"], lengths)
    is_source = layout.kind[order] == PRODUCER
    before = np.concatenate([[0], np.cumsum(is_source)])
    places["sources"], places["sources_end"] = before[places["order"]], before[places["order_end"]]
    words = (lengths + WORD_BITS - 1) // WORD_BITS
    places["run_queue"] = np.cumsum(words) - words
    return places, order, order[is_source], np.zeros(int(words.sum()), np.uint64)


def fill_run_queues(tables: Tables) -> None:
    """Where something waits; windows always, because time alone gives them work."""
    vertices = tables.vertices
    to_mark = (vertices["position"] != NONE) & ((vertices["total"] > 0.0) | (vertices["kind"] == WINDOW))
    positions = vertices["position"][to_mark]
    words = tables.places["run_queue"][vertices["place"][to_mark]] + positions // WORD_BITS
    np.bitwise_or.at(tables.run_queue, words, np.uint64(1) << (positions % WORD_BITS).astype(np.uint64))
