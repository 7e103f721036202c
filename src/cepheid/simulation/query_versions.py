"""Queries of a running simulation: they begin, become others, and end.

    Alter "q"      q    source ─▶ filter ─▶ average ─▶ end           what is needed no more stops
                             └────────┐
                   q@2                └─▶ median ─▶ end              what is new begins empty

Vertices keep their numbers as long as the simulation runs, so nothing is taken out of a scenario: an altered query is a
new one beside the old, which goes on with those vertices of the old one that are the same.  A vertex runs as long as a
query that is deployed needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cepheid.deployment import Alter, Deploy, Retire
from cepheid.errors import InvalidInput, NotSupportedYet, suggest_name
from cepheid.simulation.layout import Layout, lay_out
from cepheid.simulation.scenario import Query, Scenario, ScenarioEdge, ScenarioVertex

if TYPE_CHECKING:
    from cepheid.deployment import QueryForm

GRAPH_HINT = "give a cepheid.simulation.Query, as in scenario.queries, or simulate an application with SQL"
BELIEVED = ("ipe", "weight", "bytes", "state_bytes")  # of a vertex: what it costs, not what it computes


@dataclass(frozen=True, slots=True)
class Situation:
    """A scenario as it is now.  undeployed: queries that do not run; absent: machines that are not there."""

    scenario: Scenario
    undeployed: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    @property
    def titles(self) -> list[str]:
        return list(dict.fromkeys(query.title for query in self.scenario.queries))

    def versions(self, title: str) -> list[Query]:
        """A query and what it was before, the latest last."""
        found = [query for query in self.scenario.queries if query.title == title]
        if not found:
            raise InvalidInput(f'query "{title}" does not exist', hint=suggest_name(title, self.titles))
        return found

    def is_running(self, title: str) -> bool:
        return self.versions(title)[-1].name not in self.undeployed


def retire(action: Retire, now: Situation) -> Situation:
    return replace(now, undeployed=now.undeployed | {query.name for query in now.versions(action.name)})


def deploy(action: Deploy, now: Situation, layout: Layout) -> Situation:
    is_known = action.name in now.titles
    if is_known and action.query is None:
        return replace(now, undeployed=now.undeployed - {now.versions(action.name)[-1].name})
    if action.query is None:
        hint = f"give its query; {suggest_name(action.name, now.titles)}"
        raise InvalidInput(f'query "{action.name}" does not exist', hint=hint)
    if is_known and now.is_running(action.name):
        raise InvalidInput(f'there is a query "{action.name}" already', hint="Alter changes it, Retire ends it")
    if not isinstance(action.query, Query):
        return _add_planned(action.name, action.query, now, layout, ())
    if is_known and _is_same(action.query, now.versions(action.name)[-1]):
        return replace(now, undeployed=now.undeployed - {now.versions(action.name)[-1].name})
    return _add_apart(_named(action.query, action.name, now), now, layout)


def alter(action: Alter, now: Situation, layout: Layout) -> Situation:
    old = now.versions(action.name)
    if not now.is_running(action.name):
        raise InvalidInput(f'query "{action.name}" does not run', hint="Deploy lets it begin, as another query too")
    retired = replace(now, undeployed=now.undeployed | {query.name for query in old})
    if not isinstance(action.query, Query):
        return _add_planned(action.name, action.query, retired, layout, tuple(query.name for query in old))
    new = _named(action.query, action.name, now)
    _check_own(new)
    running = _list_running(old, layout)
    kept = find_kept(new, running) if new.copies == old[-1].copies else {}
    renewed = _renew(now, old, new, kept)
    if len(kept) == len(new.vertices) == len(running):
        return renewed
    retired = replace(renewed, undeployed=retired.undeployed)
    shared = _add(_go_on_with(new, kept), retired)
    return shared if _keeps_families(shared, layout) else _add_apart(new, retired, layout)


def _add_planned(title: str, query: QueryForm, now: Situation, layout: Layout, replaces: tuple[str, ...]) -> Situation:
    """What joins streams that nothing joined before reads them by itself: its events are counted with theirs."""
    planner = now.scenario.planner
    if planner is None:
        kind = "SQL" if isinstance(query, str) else type(query).__name__
        raise InvalidInput(f"this simulation runs queries of scenarios, not {kind}", hint=GRAPH_HINT)
    name = _next_name(title, now)

    def add(shares: bool) -> Situation:
        planned, known = planner.plan(name, query, replaces=replaces, shares=shares)
        planned = replace(planned, version_of=title if name != title else "")
        return _add(planned, replace(now, scenario=replace(now.scenario, planner=known)))

    shared = add(shares=True)
    return shared if _keeps_families(shared, layout) else add(shares=False)


def _add_apart(query: Query, now: Situation, layout: Layout) -> Situation:
    added = _add(query, now)
    if not _keeps_families(added, layout):
        raise NotSupportedYet(
            f'query "{query.title}", which joins events of others that were counted apart,',
            hint="put it into the scenario from the start, or give it producers of its own",
        )
    return added


def _add(query: Query, now: Situation) -> Situation:
    scenario = replace(now.scenario, queries=(*now.scenario.queries, query))
    return replace(now, scenario=scenario, undeployed=now.undeployed - {query.name})


def _keeps_families(after: Situation, layout: Layout) -> bool:
    """Event sets say how many events of each producer led to them; that is of one length while it runs."""
    new, count = lay_out(after.scenario, after.undeployed, after.absent), len(layout.instances)
    return np.array_equal(new.slot[:count], layout.slot) and np.array_equal(new.width[:count], layout.width)


# --- altered graphs --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class RunningVertex:
    """address: `query.vertex`.  feeds: the addresses of what leads to it, and selectivities."""

    address: str
    vertex: ScenarioVertex
    feeds: frozenset[tuple[str, float]]


def find_kept(new: Query, running: Mapping[str, RunningVertex]) -> dict[str, str]:
    """The vertices of a query that go on as others, by id, with their addresses: equal in what they do and in all
    that feeds them."""
    kept: dict[str, str] = {}
    waiting = {vertex.id: vertex for vertex in new.vertices}
    feeds = {name: [(edge.source, edge.selectivity) for edge in new.edges if edge.target == name] for name in waiting}
    while True:
        found = [
            name
            for name, vertex in waiting.items()
            if name in running
            and _computes(vertex) == _computes(running[name].vertex)
            and all(source in kept for source, _ in feeds[name])
            and running[name].feeds == {(kept[source], share) for source, share in feeds[name]}
        ]
        if not found:
            return kept
        for name in found:
            kept[name] = running[name].address
            del waiting[name]


def _computes(vertex: ScenarioVertex) -> ScenarioVertex:
    return replace(vertex, ipe=0.0, weight=1.0, bytes=0.0, state_bytes=0.0)


def _list_running(versions: list[Query], layout: Layout) -> dict[str, RunningVertex]:
    """By id; the latest, if several versions have it."""
    deployed = {
        (instance.query, instance.vertex.id)
        for instance, is_deployed in zip(layout.instances, layout.deployed, strict=True)
        if is_deployed
    }
    running = {}
    for query in versions:
        ids = {vertex.id for vertex in query.vertices}
        for vertex in query.vertices:
            if (query.name, vertex.id) in deployed:
                feeds = frozenset(
                    (f"{query.name}.{edge.source}" if edge.source in ids else edge.source, edge.selectivity)
                    for edge in query.edges
                    if edge.target == vertex.id
                )
                running[vertex.id] = RunningVertex(f"{query.name}.{vertex.id}", vertex, feeds)
    return running


def _go_on_with(new: Query, kept: Mapping[str, str]) -> Query:
    """Only what is new, fed by what is kept."""
    return replace(
        new,
        vertices=tuple(vertex for vertex in new.vertices if vertex.id not in kept),
        edges=tuple(
            ScenarioEdge(kept.get(edge.source, edge.source), edge.target, edge.selectivity)
            for edge in new.edges
            if edge.target not in kept
        ),
        placement={vertex: vm for vertex, vm in new.placement.items() if vertex not in kept},
        keeps=tuple(kept.values()),
    )


def _renew(now: Situation, old: list[Query], new: Query, kept: Mapping[str, str]) -> Situation:
    """What is kept takes over what is believed of it now, and where it is placed."""
    by_id = {vertex.id: vertex for vertex in new.vertices}

    def renew(query: Query) -> Query:
        ids = {vertex.id for vertex in query.vertices if kept.get(vertex.id) == f"{query.name}.{vertex.id}"}
        return replace(
            query,
            vertices=tuple(
                replace(each, **{name: getattr(by_id[each.id], name) for name in BELIEVED}) if each.id in ids else each
                for each in query.vertices
            ),
            placement={name: new.placement[name] if name in ids else vm for name, vm in query.placement.items()},
        )

    versions = {query.name for query in old}
    queries = tuple(renew(query) if query.name in versions else query for query in now.scenario.queries)
    return replace(now, scenario=replace(now.scenario, queries=queries))


def _check_own(query: Query) -> None:
    own = {vertex.id for vertex in query.vertices}
    if any(end not in own for edge in query.edges for end in (edge.source, edge.target)):
        told = f'altering query "{query.title}" into one that shares vertices of others'
        raise NotSupportedYet(told, hint="give it vertices of its own; what it had before is kept anyway")


def _named(query: Query, title: str, now: Situation) -> Query:
    name = _next_name(title, now)
    return replace(query, name=name, version_of=title if name != title else "")


def _next_name(title: str, now: Situation) -> str:
    if "." in title:
        hint = "leave it out: query.vertex is how the vertex of another query is named"
        raise InvalidInput(f'query "{title}" has a point in its name', hint=hint)
    names = {query.name for query in now.scenario.queries}
    number, name = 1, title
    while name in names:
        number += 1
        name = f"{title}@{number}"
    return name


def _is_same(query: Query, other: Query) -> bool:
    return replace(query, name=other.name, version_of=other.version_of) == other
