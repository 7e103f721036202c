"""A scenario as the text of a scenario file, to be read in a report and to be run again from it.

Fields that have their default value are left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from cepheid.deployment import Action, describe_action
from cepheid.simulation.arrivals import ARRIVALS
from cepheid.simulation.arrivals.randomised import Randomised
from cepheid.simulation.arrivals.replay import Replay
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenario import Datacentre, Query, Scenario, ScenarioVertex
from cepheid.simulation.scenarios.change_tables import list_changes

MOST_QUERIES = 40
TABLES = {"queries", "vms", "datacentres", "links", "failures", "actions", "planner", "micro_batch"}
FILE_NAMES = {"limits_output": "limit_output"}  # where the file says it in other words than the record


def write_scenario(scenario: Scenario, most_queries: int = MOST_QUERIES) -> str:
    """most_queries: later ones are only counted."""
    blocks = [_write_table("[simulation]", _list_entries(scenario, always={"duration_s", "tick_s", "fidelity"}))]
    batch = _list_entries(scenario.micro_batch)
    blocks += [_write_table("[micro_batch]", batch)] if batch else []
    blocks += [_write_datacentre(each) for each in scenario.datacentres]
    blocks += [
        _write_table("[[vm]]", _list_entries(each, always={"pes", "mips"})) for each in scenario.vms[:most_queries]
    ]
    blocks += _count_rest("machines", len(scenario.vms) - most_queries)
    blocks += [_write_table("[[link]]", _list_entries(each)) for each in scenario.links]
    queries = [each for each in scenario.queries if not each.version_of]  # others came of altering them
    blocks += [_write_query(each) for each in queries[:most_queries]]
    blocks += _count_rest("queries", len(queries) - most_queries)
    blocks += [_write_change(at_s, change) for at_s, change in list_changes(scenario)]
    return "\n\n".join(blocks) + "\n"


def _count_rest(what: str, rest: int) -> list[str]:
    return [f"# and {rest:,} more {what}"] if rest > 0 else []


def _write_change(at_s: float, change: Mapping[str, Any] | Action) -> str:
    if isinstance(change, Mapping):
        return _write_table("[[change]]", {"at_s": at_s, **change})
    return f"# at {at_s:g} s: {json.dumps(describe_action(change))}, for which a file has no words"


def _write_datacentre(datacentre: Datacentre) -> str:
    entries = {key: value for key, value in _list_entries(datacentre).items() if key != "hosts"}
    hosts = ["hosts = ["] + [f"  {_write_inline(_list_entries(host))}," for host in datacentre.hosts] + ["]"]
    return "\n".join([_write_table("[[datacentre]]", entries), *(hosts if datacentre.hosts else [])])


def _write_query(query: Query) -> str:
    machines: dict[str, list[str]] = {}
    for vertex, vm in query.placement.items():
        machines.setdefault(vm, []).append(vertex)
    placement = next(iter(machines)) if len(machines) == 1 else machines
    edges = ", ".join(_write_value([each.source, each.target, each.selectivity]) for each in query.edges)
    return "\n".join(
        [
            "[[query]]",
            f"name = {_write_value(query.name)}",
            *([f"copies = {query.copies}"] if query.copies != 1 else []),
            "vertices = [",
            *(f"  {_write_inline(_describe_vertex(vertex))}," for vertex in query.vertices),
            "]",
            f"edges = [{edges}]",
            f"placement = {_write_value(placement)}",
        ]
    )


def _describe_vertex(vertex: ScenarioVertex) -> dict[str, Any]:
    entries = {key: value for key, value in _list_entries(vertex).items() if key != "arrivals"}
    if isinstance(vertex.arrivals, Uniform):
        entries["rate_per_s"] = vertex.arrivals.rate_per_s
    elif vertex.arrivals is not None:
        entries["arrivals"] = _describe_arrivals(vertex.arrivals)
    return entries


def _describe_arrivals(arrivals: Any) -> dict[str, Any]:
    """As a table of the file; but a recorded rate does not know any more which file it came from."""
    if isinstance(arrivals, Randomised):
        return _describe_arrivals(arrivals.around) | {"random": True, "seed": arrivals.seed}
    name = next((name for name, kind in ARRIVALS.items() if kind is type(arrivals)), type(arrivals).__name__)
    if isinstance(arrivals, Replay):
        return {"kind": name, "path": f"(a file of {len(arrivals.times_s):,} rates)", "repeats": arrivals.repeats}
    return {"kind": name} | (_list_entries(arrivals) if is_dataclass(arrivals) else {})


def _list_entries(record: Any, always: set[str] | None = None) -> dict[str, Any]:
    """The fields that are not what they would be anyway."""
    entries = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if each.name in TABLES or value is None or (value == _usual(each) and each.name not in (always or ())):
            continue
        entries[FILE_NAMES.get(each.name, each.name)] = value
    return entries


def _usual(field: Field[Any]) -> Any:
    return field.default if field.default is not MISSING else MISSING


def _write_table(head: str, values: Mapping[str, Any]) -> str:
    return "\n".join([head, *(f"{key} = {_write_value(value)}" for key, value in values.items())])


def _write_inline(values: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{_write_key(key)} = {_write_value(value)}" for key, value in values.items()) + " }"


def _write_key(key: str) -> str:
    plain = bool(key) and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in key)
    return key if plain else _write_value(key)


def _write_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if not math.isfinite(value):
                return "nan" if math.isnan(value) else "inf" if value > 0.0 else "-inf"
            return repr(value)
        case Mapping():
            return _write_inline(value)
        case list() | tuple():
            return "[" + ", ".join(_write_value(each) for each in value) + "]"
        case _:
            # JSON's strings are TOML's, but for a character that TOML wants escaped
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
