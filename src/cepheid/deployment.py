"""What a running set of queries offers to those who watch and steer it, be it a live session or a simulated one.

    observe() ─▶ Observation ─▶ somebody decides ─▶ Action ─▶ apply(action)
                                     list of TimedAction ─▶ replay ─▶ apply(action), each at its time

Actions are values, so that a decision can be shown, stored and tried in a simulation before it is carried out.  Their
words hold for both: queries, vertices, machines with cores, and engines, which serve the key groups of what is keyed.
A deployment that cannot carry out an action raises `NotSupportedYet`; one that names what is not there, or gives what
does not fit, is an `InvalidInput`.  Either way nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from cepheid.errors import InvalidInput
from cepheid.measurement import Counts, Observation

if TYPE_CHECKING:  # an action is made without loading a compiler
    import pyarrow as pa

    from cepheid.disorder.lateness_report import LatenessReport
    from cepheid.graph.query_graph import QueryGraph
    from cepheid.language.builder.pattern_builder import Pattern


class CostedGraph(Protocol):
    """A query that says of each vertex what it costs and where it runs, and not what it computes: something to be
    simulated only (`cepheid.simulation.Query`)."""

    @property
    def name(self) -> str: ...

    @property
    def placement(self) -> Mapping[str, str]: ...


if TYPE_CHECKING:
    QueryForm = str | Pattern | QueryGraph | CostedGraph
    RowSink = str | Path | Callable[[pa.Table], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """A query begins.  query: SQL text, a pattern of `cep.pattern`, or its graph; None: the one of that name that the
    deployment knows, because it was retired, or is planned for later.  sink: where its rows go, a URL, a file or a
    function; None: they are handed back.  A simulation counts rows and has no sink."""

    name: str
    query: QueryForm | None = None
    sink: RowSink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alter:
    """A running query becomes another one.  Vertices that are the same before and after (the same digest) keep what
    they hold; the others begin empty."""

    name: str
    query: QueryForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """End a query.  What other queries still need runs on; what only this one had waiting is dropped, and counted."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replan:
    """Compile queries again with what was measured since; names: of queries, empty: all.  What stays the same keeps
    its state."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Another number of engines, which share the key groups among them: of a vertex, of a query (`vertex` empty), of
    all that runs on a machine, or of the whole deployment (all three empty).

    An engine is one core's worth of work.  So in a simulation, where key groups are not told apart, a machine has as
    many cores as engines; of an application, the cluster has as many engines as asked, each with its cores, and what
    only one engine can do stays as slow as it is.  A query or vertex is scaled where it has a machine for itself.
    """

    engines: int
    query: str = ""
    vertex: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveGroups:
    """Key groups of a vertex, with the state of their keys, go to another engine.  engine: its number, from 0."""

    query: str
    vertex: str
    groups: tuple[int, ...]
    engine: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A vertex, or with an empty `vertex` the whole query, goes to another machine.  pause_s: how long it stands
    still for that, beside the time that its state takes on the network."""

    query: str
    machine: str
    vertex: str = ""
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMachine:
    """A machine is there from now on.  speed: of one core, where 1.0 is the machine that costs are stated for
    (2,500 MIPS).  What is left out is as the deployment knows it of a machine of that name, one that was removed or
    is planned for later; else one core of speed 1.0 for nothing."""

    name: str
    cores: int | None = None
    speed: float | None = None
    price_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMachine:
    """loses: what is placed there loses what it has waiting; else it stands still until it is moved."""

    name: str
    loses: bool = True


Action = Deploy | Alter | Retire | Replan | Scale | MoveGroups | Move | AddMachine | RemoveMachine


@dataclass(frozen=True, slots=True)
class TimedAction:
    """at_s: on the clock of the deployment."""

    at_s: float
    action: Action


@dataclass(frozen=True, slots=True)
class Watched:
    """What a session tells of itself: what was measured since the last time; and so far, what was done to it and when,
    what was counted, how many rows each query gave, and how late events are."""

    observation: Observation
    actions: tuple[TimedAction, ...]
    counts: Counts
    rows: Mapping[str, int]
    lateness: LatenessReport | None = None  # None: without `cep.Disorder`


class Deployment(Protocol):
    """now_s: its own clock.  `apply` asks; what came of it is seen in later observations."""

    @property
    def now_s(self) -> float: ...

    def observe(self) -> Observation: ...

    def apply(self, action: Action) -> None: ...


Subject_contra = TypeVar("Subject_contra", contravariant=True)


class Runner(Protocol[Subject_contra]):
    """Puts something to run where it can be steered: a simulated one takes scenarios."""

    def start(self, subject: Subject_contra) -> Deployment: ...


def replay(
    actions: Iterable[TimedAction], deployment: Deployment, advance_to: Callable[[float], None]
) -> tuple[TimedAction, ...]:
    """Apply each action at its time, in the order of times; those of one time in the order given.

    advance_to: lets time pass in the deployment until its clock stands at that time or, where it moves in steps, just
    behind it.  Gives back what was applied, with the times at which that was.
    """
    applied = []
    for each in sorted(actions, key=attrgetter("at_s")):
        if deployment.now_s < each.at_s:
            advance_to(each.at_s)
        if deployment.now_s < each.at_s:
            raise InvalidInput(
                f"the deployment ended at {deployment.now_s:g} s, before {describe_action(each.action)} "
                f"at {each.at_s:g} s",
                hint="let it run for longer, or leave out what comes later",
            )
        deployment.apply(each.action)
        applied.append(TimedAction(deployment.now_s, each.action))
    return tuple(applied)


def describe_action(action: Action) -> str:
    """What it does to what, in a few words: `move average`."""
    match action:
        case Replan(names=names):
            return f"replan {', '.join(names)}".strip()
        case Scale():
            return f"scale {action.vertex or action.query or action.machine}".strip()
        case Move() | MoveGroups():
            verb = "move" if isinstance(action, Move) else "move groups of"
            return f"{verb} {action.vertex or action.query}"
        case AddMachine() | RemoveMachine():
            return f"{'add' if isinstance(action, AddMachine) else 'remove'} {action.name}"
        case Deploy() | Alter() | Retire():
            return f"{type(action).__name__.lower()} {action.name}"
