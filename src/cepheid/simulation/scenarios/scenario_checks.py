"""Does a scenario fit together?  Names, edges, placements, and what each fidelity can do.

Values of single fields are checked where they are read; here, what only the whole scenario shows.  A file and Python
code can both make such mistakes, so the checks are on the records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from cepheid.deployment import AddMachine, Alter, Deploy, Move, RemoveMachine, Retire, Scale, describe_action
from cepheid.errors import InvalidScenario, Where, suggest_name
from cepheid.simulation.reference.schedulers import find_scheduler
from cepheid.simulation.scenario import MicroBatch, Query, Scenario, ScenarioVertex

MOST_TICKS = 20_000_000  # the engines keep a few numbers for each of them
MOST_SLOTS = 1_000_000
Node = tuple[str, str]  # query and vertex


def check_scenario(scenario: Scenario) -> None:
    """Raises InvalidScenario for the first mistake."""
    if scenario.duration_s / scenario.tick_s > MOST_TICKS:
        raise InvalidScenario(
            f"{scenario.duration_s:g} s are more than {MOST_TICKS:,} ticks of {scenario.tick_s:g} s",
            where=("simulation", "tick_s"),
            hint="take longer ticks or a shorter duration",
        )
    _check_unique("query", [query.name for query in scenario.queries])
    _check_unique("vm", [vm.name for vm in scenario.vms])
    _check_unique("datacentre", [datacentre.name for datacentre in scenario.datacentres])
    for what, count in (("vm", len(scenario.vms)), ("query", len(scenario.queries))):
        if not count:
            raise InvalidScenario(f"there is no {what}", hint=f"write at least one [[{what}]]")
    _check_surroundings(scenario)
    vms = {vm.name: None for vm in scenario.vms}
    for place, query in enumerate(scenario.queries):
        _check_query(query, ("query", place), vms)
        for number, vertex in enumerate(query.vertices):
            if vertex.kind == "window":
                _check_window(scenario, query, vertex, ("query", place, "vertices", number))
    _check_edges(scenario)
    _check_actions(scenario)
    _check_fidelity(scenario)


def _check_fidelity(scenario: Scenario) -> None:
    """The scenario uses no feature that CEPSim lacks."""
    if scenario.fidelity != "cepsim":
        return
    for what, where in _beyond_cepsim(scenario):
        raise InvalidScenario(
            f'fidelity "cepsim" has no {what}',
            where=where,
            hint='the published simulator does not know that: take fidelity = "corrected"',
        )


def _beyond_cepsim(scenario: Scenario) -> Iterator[tuple[str, Where]]:
    if find_scheduler(scenario.scheduler).steps is None:
        yield f'scheduler "{scenario.scheduler}"', ("simulation", "scheduler")
    if scenario.micro_batch != MicroBatch():
        yield "micro-batches", ("micro_batch",)
    if scenario.links:
        yield "links", ("link", 0)
    if scenario.actions or scenario.failures:
        yield "changes while it runs", ("change", 0)
    for place, query in enumerate(scenario.queries):
        for number, vertex in enumerate(query.vertices):
            if vertex.sheds:
                yield f'producers that shed events ("{vertex.id}")', ("query", place, "vertices", number, "sheds")


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            told = f'there are two of [[{what}]] with the name "{name}"'
            raise InvalidScenario(told, where=(what, place, "name"), hint="rename one of the two")
        seen.add(name)


def _check_surroundings(scenario: Scenario) -> None:
    """Machines in their datacentres, and links between places that exist."""
    datacentres = [datacentre.name for datacentre in scenario.datacentres]
    for place, vm in enumerate(scenario.vms):
        if vm.datacentre and vm.datacentre not in datacentres:
            raise _unknown("datacentre", vm.datacentre, datacentres, ("vm", place, "datacentre"), f'vm "{vm.name}"')
    if not scenario.links:
        return
    clouds = [datacentre.cloud for datacentre in scenario.datacentres if datacentre.cloud]
    ends = dict.fromkeys([*(vm.name for vm in scenario.vms), *datacentres, *clouds])
    for place, link in enumerate(scenario.links):
        for key, end in (("source", link.source), ("target", link.target)):
            if end not in ends:
                raise _unknown("machine, datacentre or cloud", end, ends, ("link", place, key), f"link {place + 1}")


def _check_query(query: Query, where: Where, vms: Collection[str]) -> None:
    title = f'query "{query.name}"'
    if not query.vertices:
        raise InvalidScenario(f"{title} has no vertices", where=where, hint="begin with a producer and a consumer")
    ids: set[str] = set()
    for number, vertex in enumerate(query.vertices):
        if vertex.id in ids:
            raise InvalidScenario(
                f'{title} has two vertices with the id "{vertex.id}"',
                where=(*where, "vertices", number, "id"),
                hint="rename one of the two, in edges and placement as well",
            )
        ids.add(vertex.id)
    for name, vm in query.placement.items():
        if name not in ids:
            raise _unknown("vertex", name, _ids(query), (*where, "placement"), f"the placement of {title}")
        if vm not in vms:
            raise _unknown("machine", vm, vms, (*where, "placement"), f"the placement of {title}")
    for number, vertex in enumerate(query.vertices):
        if vertex.id not in query.placement:
            raise InvalidScenario(
                f'{title} places vertex "{vertex.id}" nowhere',
                where=(*where, "vertices", number),
                hint='name it in the placement, or write placement = "VM" for all vertices',
            )


def _check_window(scenario: Scenario, query: Query, vertex: ScenarioVertex, where: Where) -> None:
    title = f'window "{vertex.id}" of query "{query.name}"'
    if vertex.advance_s > vertex.window_s:
        raise InvalidScenario(
            f"{title} advances by {vertex.advance_s:g} s, more than its length of {vertex.window_s:g} s",
            where=(*where, "advance_s"),
            hint="events between two windows would be in neither",
        )
    slots = vertex.window_s / vertex.advance_s
    if slots > MOST_SLOTS:
        raise InvalidScenario(
            f"{title} advances {slots:,.0f} times within its length; at most {MOST_SLOTS:,} are possible",
            where=(*where, "advance_s"),
            hint=f"write advance_s = {vertex.window_s / MOST_SLOTS:g} or more",
        )
    if scenario.fidelity == "corrected" and abs(slots - round(slots)) > 1e-9 * slots:
        raise InvalidScenario(
            f"{title} is {vertex.window_s:g} s long, which is not a whole number of advances of {vertex.advance_s:g} s",
            where=(*where, "window_s"),
            hint='fidelity "cepsim" would cut it to whole advances, as the published simulator does',
        )


def _check_edges(scenario: Scenario) -> None:
    """Ends exist, no edge enters a producer or leaves a consumer, every vertex has the edges it needs, no cycles."""
    kinds: dict[Node, str] = {
        (query.name, vertex.id): vertex.kind for query in scenario.queries for vertex in query.vertices
    }
    queries = {query.name: query for query in scenario.queries}
    after: dict[Node, list[Node]] = {node: [] for node in kinds}
    inputs: dict[Node, int] = dict.fromkeys(kinds, 0)
    for place, query in enumerate(scenario.queries):
        seen: set[tuple[Node, Node]] = set()
        for number, edge in enumerate(query.edges):
            where = ("query", place, "edges", number)
            title = f'edge "{edge.source}" to "{edge.target}" of query "{query.name}"'
            source = _find_end(query, edge.source, kinds, queries, where)
            target = _find_end(query, edge.target, kinds, queries, where)
            if kinds[source] == "consumer":
                hint = "turn it round, or let it begin at an operator"
                raise InvalidScenario(f"{title} leads out of a consumer", where=where, hint=hint)
            if kinds[target] == "producer":
                hint = "turn it round, or let it end at an operator"
                raise InvalidScenario(f"{title} leads into a producer", where=where, hint=hint)
            if (source, target) in seen:
                hint = "keep one of the two; its number is events out for each one in"
                raise InvalidScenario(f"{title} is there twice", where=where, hint=hint)
            seen.add((source, target))
            after[source].append(target)
            inputs[target] += 1
    for place, query in enumerate(scenario.queries):
        for number, vertex in enumerate(query.vertices):
            node = (query.name, vertex.id)
            lacks_input = vertex.kind != "producer" and not inputs[node]
            if lacks_input or (vertex.kind != "consumer" and not after[node]):
                raise InvalidScenario(
                    f'{vertex.kind} "{vertex.id}" of query "{query.name}" has no edge that leads '
                    f"{'to' if lacks_input else 'away from'} it",
                    where=("query", place, "vertices", number),
                    hint="[source, target, selectivity] in edges",
                )
    _check_no_cycle(scenario, after, inputs)


def _find_end(query: Query, name: str, kinds: Mapping[Node, str], queries: Mapping[str, Query], where: Where) -> Node:
    """A vertex of the query, or `other.vertex`."""
    if (query.name, name) in kinds:
        return query.name, name
    other, _, vertex = name.partition(".")
    if (other, vertex) not in kinds:
        raise _unknown("vertex", name, _ids(query), where, f'an edge of query "{query.name}"')
    if 1 < queries[other].copies < query.copies:
        raise InvalidScenario(
            f'query "{query.name}" has {query.copies} copies and shares "{name}", of which there are '
            f"{queries[other].copies}",
            where=where,
            hint="one copy is shared by all; several have to be as many as there are sharers",
        )
    return other, vertex


def _check_no_cycle(scenario: Scenario, after: Mapping[Node, list[Node]], inputs: dict[Node, int]) -> None:
    """Takes away vertices that wait for nothing, until none is left, or a circle."""
    left = dict(inputs)
    ready = [node for node, count in left.items() if not count]
    for node in ready:  # grows while it is walked
        for follower in after[node]:
            left[follower] -= 1
            if not left[follower]:
                ready.append(follower)
    if len(ready) == len(left):
        return
    stuck = set(left) - set(ready)
    before = {follower: node for node in sorted(stuck) for follower in after[node] if follower in stuck}
    path = [min(stuck)]
    while path.count(path[-1]) < 2:  # each blocked vertex waits for another blocked one
        path.append(before[path[-1]])
    circle = path[path.index(path[-1]) :][::-1]
    place = next(place for place, query in enumerate(scenario.queries) if query.name == circle[0][0])
    names = " -> ".join(f'"{vertex}"' for _, vertex in circle)
    raise InvalidScenario(
        f'edges of query "{circle[0][0]}" lead in a circle: {names}',
        where=("query", place, "edges"),
        hint="events flow from producers to consumers and never back",
    )


def _check_actions(scenario: Scenario) -> None:
    """They name what is there, or comes; a file has said where it names something else."""
    queries = dict.fromkeys([query.title for query in scenario.queries])
    machines = dict.fromkeys([vm.name for vm in scenario.vms])
    for timed in sorted(scenario.actions, key=lambda timed: timed.at_s):
        title = f"{describe_action(timed.action)} at {timed.at_s:g} s"
        match timed.action:
            case Deploy(name=name) if timed.action.query is not None:
                queries[name] = None
            case AddMachine(name=name):
                machines[name] = None
            case Deploy(name=query) | Alter(name=query) | Retire(name=query):
                _check_name("query", query, queries, title)
            case RemoveMachine(name=machine):
                _check_name("machine", machine, machines, title)
            case Move(query=query, machine=machine) | Scale(query=query, machine=machine):
                _check_name("query", query, queries, title)
                _check_name("machine", machine, machines, title)
    for failure in scenario.failures:
        _check_name("machine", failure.machine, machines, f"a failure at {failure.at_s:g} s")


def _check_name(what: str, name: str, known: Iterable[str], title: str) -> None:
    if name and name not in known:
        raise _unknown(what, name, known, (), title)


def _ids(query: Query) -> list[str]:
    return [vertex.id for vertex in query.vertices]


def _unknown(what: str, name: str, known: Iterable[str], where: Where, title: str) -> InvalidScenario:
    return InvalidScenario(f'{title}: {what} "{name}" does not exist', where=where, hint=suggest_name(name, known))
