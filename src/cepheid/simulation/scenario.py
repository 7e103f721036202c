"""What is simulated: queries as graphs of vertices, the machines they are placed on, and what happens while they run.

A scenario is a value: reading a file makes one, a sweep makes many of one, an engine only reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from cepheid.deployment import TimedAction
from cepheid.simulation.arrivals.arrivals import ArrivalProcess

if TYPE_CHECKING:
    from cepheid.deployment import QueryForm

Kind = Literal["producer", "operator", "window", "consumer"]
Fidelity = Literal["cepsim", "corrected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioVertex:
    """ipe: instructions per event.  queue: how many events each of its input queues holds, 0: any number.

    Producers: `limited` ones take in what there is room for; what they leave outside comes later, or never (`sheds`).
    Windows: `output` events when one closes (None: as many as came in); `limits_output`: as many fewer as the successor
    still has waiting.  bytes: how large an event is that leaves it, for networks.  state_bytes: what has to be carried
    when it moves.
    """

    id: str
    kind: Kind
    ipe: float
    queue: float = 0.0
    weight: float = 1.0
    arrivals: ArrivalProcess | None = None
    limited: bool = True
    sheds: bool = False
    window_s: float = 0.0
    advance_s: float = 0.0
    output: float | None = None
    limits_output: bool = True
    bytes: float = 100.0
    state_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class ScenarioEdge:
    source: str
    target: str
    selectivity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """placement: the machine of each vertex, by its id.  version_of: the name under which it is known, if another
    query had that name before it was altered; keeps: the vertices of that one which it goes on with, as
    `query.vertex`."""

    name: str
    vertices: tuple[ScenarioVertex, ...]
    edges: tuple[ScenarioEdge, ...]
    placement: Mapping[str, str]
    copies: int = 1
    version_of: str = ""
    keeps: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self.version_of or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A physical server; `count` of them."""

    name: str
    pes: int
    mips: float
    ram_mb: float = float("inf")
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Datacentre:
    name: str
    cloud: str = ""
    hosts: tuple[Host, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vm:
    """datacentre: where it runs; empty: on a server of its own, somewhere."""

    name: str
    pes: int = 1
    mips: float = 2500.0
    ram_mb: float = 0.0
    price_per_hour: float = 0.0
    datacentre: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How messages travel between two places: names of machines, datacentres or clouds; the nearest description holds.

    bandwidth_mbps: 0 is unlimited; otherwise messages on the link wait for each other.
    """

    source: str
    target: str
    latency_s: float
    bandwidth_mbps: float = 0.0
    price_per_gb: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """As Spark runs: every `interval_s`, or as soon as the previous batch is done, all events that have arrived.

    overhead_s: what a batch costs before its first event.  max_events: most events of one producer in a batch, 0: any.
    """

    interval_s: float = 0.0
    overhead_s: float = 0.0
    max_events: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A machine stands still for `for_s`.  It happens and nobody decides it, so it is no action.  loses: what its
    vertices have waiting is lost; else it is kept."""

    at_s: float
    machine: str
    for_s: float = 0.0
    loses: bool = True


class Planner(Protocol):
    """Makes queries of a scenario out of SQL, patterns and query graphs, where the scenario came from such.  A value:
    what it has planned is known to the one that it gives back."""

    def plan(
        self, name: str, query: QueryForm, *, replaces: tuple[str, ...] = (), shares: bool = True
    ) -> tuple[Query, Planner]:
        """replaces: queries whose vertices it goes on with, if they are the same.  shares: with other queries, what is
        equal; else all its vertices are its own."""
        ...

    def scale(self, engines: int) -> Scaled: ...


@dataclass(frozen=True, slots=True)
class Scaled:
    """A cluster with another number of engines: its machine, how many cores that has now, and what the vertices of the
    planned queries cost there, by id."""

    planner: Planner
    machine: str
    cores: int
    queries: frozenset[str]
    costs: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """scheduler, allocation: names registered in scheduling.py and allocation.py.

    cloudlet_pes: processors that each placement asks for; None: one, and with fidelity "corrected" all of its machine.
    placements: one for each machine ("vm"), or one for each query on it ("query"), each with a time of its own.
    actions: what is done while it runs, in the words of live deployments (deployment.py; effects.py says what each
    does here).  A query or machine that is deployed or added later on is not there before.
    planner: for queries as SQL; a scenario of graphs has none.
    """

    queries: tuple[Query, ...]
    vms: tuple[Vm, ...]
    duration_s: float
    tick_s: float = 0.1
    iterations: int = 1
    fidelity: Fidelity = "cepsim"
    scheduler: str = "dynamic"
    allocation: str = "uniform"
    network_delay_s: float = 0.001
    cloudlet_pes: int | None = None
    placements: Literal["vm", "query"] = "vm"
    datacentres: tuple[Datacentre, ...] = ()
    links: tuple[Link, ...] = ()
    micro_batch: MicroBatch = field(default_factory=MicroBatch)
    failures: tuple[Failure, ...] = ()
    actions: tuple[TimedAction, ...] = ()
    planner: Planner | None = field(default=None, compare=False, repr=False)
