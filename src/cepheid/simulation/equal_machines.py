"""Machines that are equal in everything are simulated once: nothing here is random that is not seeded, so they do the
same.

Machines that share a query go together.  Two such groups are equal if their machines have the same processors and
their queries the same vertices, edges, copies and places; what they are called does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cepheid.simulation.layout import Layout
from cepheid.simulation.scenario import Query, Scenario
from cepheid.simulation.tally import ROWS_OF, Tally

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Merged:
    """scenario: only those that are simulated.  model_of_query, model_of_vm: for each of the whole, its number
    there."""

    scenario: Scenario
    model_of_query: list[int]
    model_of_vm: list[int]


def merge_equal(scenario: Scenario, absent: Collection[str]) -> Merged | None:
    """None: no machines are equal, or it cannot be decided (actions and failures name machines; links with a
    bandwidth are shared by all)."""
    if scenario.actions or scenario.failures or scenario.links or scenario.placements != "vm":
        return None
    groups = _group_machines(scenario)
    if groups is None:
        return None
    models: dict[Hashable, tuple[list[int], list[int]]] = {}
    model_of_query, model_of_vm = [0] * len(scenario.queries), [0] * len(scenario.vms)
    kept_queries: list[int] = []
    kept_vms: list[int] = []
    for vms, queries in groups:
        signature = _describe(scenario, vms, queries, absent)
        if signature not in models:
            models[signature] = (vms, queries)
            kept_vms += vms
            kept_queries += queries
        for own, model in zip((vms, queries), models[signature], strict=True):
            table = model_of_vm if own is vms else model_of_query
            for number, model_number in zip(own, model, strict=True):
                table[number] = model_number
    if len(kept_vms) == len(scenario.vms):
        return None
    place_of_vm = {number: place for place, number in enumerate(sorted(kept_vms))}
    place_of_query = {number: place for place, number in enumerate(sorted(kept_queries))}
    small = replace(
        scenario,
        vms=tuple(scenario.vms[number] for number in sorted(kept_vms)),
        queries=tuple(scenario.queries[number] for number in sorted(kept_queries)),
    )
    return Merged(
        small, [place_of_query[number] for number in model_of_query], [place_of_vm[number] for number in model_of_vm]
    )


def spread(merged: Merged, tally: Tally, layout: Layout, whole_layout: Layout) -> Tally:
    """The tally of the whole: every row of a machine is that of the one that was simulated for it."""
    vertices = _map_rows(merged, lambda query: query.copies * len(query.vertices))
    edges = _map_rows(merged, lambda query: query.copies * len(query.edges))
    row_of = {vertex: row for row, vertex in enumerate(layout.consumers())}
    consumers = np.array([row_of[int(vertices[vertex])] for vertex in whole_layout.consumers()], np.int64)
    placements = np.array(merged.model_of_vm, np.int64)
    models = {"consumers": consumers, "vertices": vertices, "edges": edges, "placements": placements}
    copied = {name: getattr(tally, name)[models[what]] for what, names in ROWS_OF.items() for name in names}
    return replace(tally, **copied, consumer_of={vertex: row for row, vertex in enumerate(whole_layout.consumers())})


def _group_machines(scenario: Scenario) -> list[tuple[list[int], list[int]]] | None:
    """Numbers of machines and queries that belong together, each ascending; None: queries refer to each other."""
    number = {vm.name: place for place, vm in enumerate(scenario.vms)}
    parent = list(range(len(scenario.vms)))

    def root(vm: int) -> int:
        while parent[vm] != vm:
            parent[vm] = parent[parent[vm]]
            vm = parent[vm]
        return vm

    for query in scenario.queries:
        own = {vertex.id for vertex in query.vertices}
        if any(end not in own for edge in query.edges for end in (edge.source, edge.target)):
            return None
        first, *others = {number[name] for name in query.placement.values()}
        for vm in others:
            parent[root(vm)] = root(first)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for vm in range(len(scenario.vms)):
        groups.setdefault(root(vm), ([], []))[0].append(vm)
    for place, query in enumerate(scenario.queries):
        groups[root(number[next(iter(query.placement.values()))])][1].append(place)
    return list(groups.values())


def _describe(scenario: Scenario, vms: list[int], queries: list[int], absent: Collection[str]) -> Hashable:
    local = {scenario.vms[number].name: place for place, number in enumerate(vms)}
    machines = tuple((scenario.vms[n].pes, scenario.vms[n].mips, scenario.vms[n].name in absent) for n in vms)
    return machines, tuple(_describe_query(scenario.queries[number], local) for number in queries)


def _describe_query(query: Query, local: dict[str, int]) -> Hashable:
    places = tuple(local[query.placement[vertex.id]] for vertex in query.vertices)
    return query.vertices, query.edges, query.copies, places


def _map_rows(merged: Merged, count: Callable[[Query], int]) -> Ints:
    """Rows of a query follow each other."""
    starts = np.concatenate([[0], np.cumsum([count(query) for query in merged.scenario.queries])])
    parts = [np.arange(starts[model], starts[model + 1]) for model in merged.model_of_query]
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)
