"""[[change]] of a scenario file: timed actions and failures, in the words of the file, which has machines as [[vm]].

    deploy, retire      query                         Deploy, Retire
    move                query, vertex, vm, pause_s    Move
    add_vm, remove_vm   vm, loses                     AddMachine, RemoveMachine
    resize              vm, pes                       Scale(machine=, engines=)
    fail                vm, for_s, loses              Failure

A deploy or add_vm names a [[query]] or [[vm]] of the file, which is not there before.  Other actions, and queries that
are not in the file, are for Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cepheid.deployment import Action, AddMachine, Deploy, Move, RemoveMachine, Retire, Scale, TimedAction
from cepheid.errors import suggest_name
from cepheid.simulation.scenario import Failure, Query, Scenario, Vm
from cepheid.toml_files.table import Table

NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "deploy": ("query",),
    "retire": ("query",),
    "move": ("query", "vm"),
    "fail": ("vm",),
    "add_vm": ("vm",),
    "remove_vm": ("vm",),
    "resize": ("vm", "pes"),
}
KEYS = ("at_s", "action", "query", "vertex", "vm", "pes", "for_s", "pause_s", "loses")
LOSES = ("queues", "nothing")
Value = str | float | int


@dataclass(frozen=True, slots=True)
class Changes:
    actions: tuple[TimedAction, ...]
    failures: tuple[Failure, ...]


def read_changes(tables: Iterable[Table], queries: Sequence[Query], vms: Sequence[Vm]) -> Changes:
    ids = {query.name: [vertex.id for vertex in query.vertices] for query in queries}
    names = [vm.name for vm in vms]
    actions, failures = [], []
    for table in tables:
        at_s, word = table.number("at_s", zero=True), table.choice("action", NEEDS)
        for key in NEEDS[word]:
            table.value(key, hint=f'the action "{word}" needs {" and ".join(NEEDS[word])}')
        query = _name(table, "query", ids, "query")
        _name(table, "vertex", ids.get(query, []), "vertex")
        _name(table, "vm", names, "machine")
        read = _read_change(table, word, at_s)
        if isinstance(read, Failure):
            failures.append(read)
        else:
            actions.append(TimedAction(at_s, read))
    return Changes(tuple(actions), tuple(failures))


def _name(table: Table, key: str, known: Iterable[str], what: str) -> str:
    name = table.text(key, "")
    if name and name not in known:
        word = table.text("action")
        problem = f'("{word}"): {what} "{name}" does not exist'
        raise table.mistake(problem, key, hint=suggest_name(name, known))
    return name


def _read_change(table: Table, word: str, at_s: float) -> Action | Failure:
    query, vm = table.text("query", ""), table.text("vm", "")
    loses = table.choice("loses", LOSES, "queues") == "queues"
    for_s, pause_s = (table.number(key, 0.0, zero=True) for key in ("for_s", "pause_s"))
    pes = table.whole("pes") if table.has("pes") else 1
    match word:
        case "deploy":
            return Deploy(name=query)
        case "retire":
            return Retire(name=query)
        case "move":
            return Move(query=query, vertex=table.text("vertex", ""), machine=vm, pause_s=pause_s)
        case "add_vm":
            return AddMachine(name=vm)
        case "remove_vm":
            return RemoveMachine(name=vm, loses=loses)
        case "resize":
            return Scale(machine=vm, engines=pes)
    return Failure(at_s=at_s, machine=vm, for_s=for_s, loses=loses)


def list_changes(scenario: Scenario) -> list[tuple[float, Mapping[str, Value] | Action]]:
    """As tables of a file, by time; an action that a file cannot say is given as it is."""
    failures: list[tuple[float, Mapping[str, Value] | Action]] = [
        (each.at_s, _without_usual({"action": "fail", "vm": each.machine, "for_s": each.for_s}, each.loses))
        for each in scenario.failures
    ]
    actions = [(each.at_s, _write_action(each.action, scenario) or each.action) for each in scenario.actions]
    return sorted([*failures, *actions], key=lambda change: change[0])


def _write_action(action: Action, scenario: Scenario) -> dict[str, Value] | None:
    in_file = {query.name for query in scenario.queries}
    match action:
        case Deploy(name=name) | Retire(name=name) if name in in_file:
            return {"action": type(action).__name__.lower(), "query": name}
        case Move():
            said: dict[str, Value] = {"action": "move", "query": action.query, "vertex": action.vertex}
            return _without_usual({**said, "vm": action.machine, "pause_s": action.pause_s})
        case AddMachine(name=name):
            return {"action": "add_vm", "vm": name}
        case RemoveMachine(name=name):
            return _without_usual({"action": "remove_vm", "vm": name}, action.loses)
        case Scale(query="", vertex="") if action.machine:
            return {"action": "resize", "vm": action.machine, "pes": action.engines}
    return None


def _without_usual(said: Mapping[str, Value], loses: bool = True) -> dict[str, Value]:
    kept = {key: value for key, value in said.items() if value not in ("", 0.0)}
    return kept if loses else {**kept, "loses": "nothing"}
