"""What a running set of queries offers to those who watch and steer it, be it a live pipeline or a simulated one.

    observe() ─▶ Observation ─▶ somebody decides ─▶ Action ─▶ apply(action)

Actions are values, so that a decision can be shown, stored and tried in a simulation before it is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cepheid.measurement import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """query: what the host runs: a simulated deployment takes a `simulation.scenario.Query`."""

    query: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """End a query; what it still has waiting is dropped, and counted."""

    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A vertex, or with an empty `vertex` the whole query, goes to another machine.  pause_s: how long it stands
    still for that, beside the time that its state takes on the network."""

    query: str
    vertex: str = ""
    machine: str
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMachine:
    name: str
    pes: int = 1
    mips: float = 2500.0
    price_per_hour: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMachine:
    """loses: what is placed there loses what it has waiting; else it stands still until it is moved."""

    name: str
    loses: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """Another number of processors, engines on Spark."""

    name: str
    pes: int


Action = Deploy | Retire | Move | AddMachine | RemoveMachine | Resize


class Deployment(Protocol):
    """now_s: its own clock.  `apply` asks; what came of it is seen in later observations."""

    @property
    def now_s(self) -> float: ...

    def observe(self) -> Observation: ...

    def apply(self, action: Action) -> None: ...


class Runner(Protocol):
    """Puts something to run where it can be steered.  subject: what it runs, a scenario for a simulated one."""

    def start(self, subject: Any) -> Deployment: ...
