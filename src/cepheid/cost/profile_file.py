"""A profile as a TOML file: what `cepheid calibrate` writes and the simulator reads.

host = "embedded"
mips = 2500.0
pes = 1
overhead_s = 0.00031

[vertices.sequence_1]       # the label it had; it is found again by its digest
digest = "5c0e..."
ipe = 262.5
selectivity = 0.049
method = "regression"

[queries.query]            # how that was found; the simulator does not need it
regression_s = 1.05e-07
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, TypeVar, get_args

from cepheid.cost.profile import HostName, Profile, QueryProfile, VertexProfile
from cepheid.toml_files.reading import parse_table, places_in, read_text
from cepheid.toml_files.table import Table

Record = TypeVar("Record", VertexProfile, QueryProfile)
ABOVE_ZERO = ("mips", "pes", "ipe", "regression_s", "latency_s", "throughput_s")
PARTS = ("vertices", "queries")
MOST = 10**15  # events that were measured


def write_profile(profile: Profile, path: Path) -> None:
    path.write_text(show_profile(profile), encoding="utf-8")


def show_profile(profile: Profile) -> str:
    content = asdict(profile)
    parts = {name: content.pop(name) for name in PARTS}
    lines = _show_values(content)
    for part, entries in parts.items():
        for name, values in entries.items():
            lines += ["", f"[{part}.{json.dumps(name)}]", *_show_values(values)]
    return "\n".join(lines) + "\n"


def _show_values(values: Mapping[str, Any]) -> list[str]:
    """Text as in JSON, whose quotes and escapes are TOML's as well."""
    return [f"{name} = {json.dumps(value)}" for name, value in values.items() if value != ""]


def read_profile(path: Path) -> Profile:
    text = read_text(path, "profile", hint="cepheid calibrate --app APP.toml --output writes one")
    with places_in(text, path):
        top = parse_table(text, "the profile", _names(Profile))
        return Profile(
            **_read_values(top, Profile),
            vertices=dict(_read_records(top, "vertices", "vertex", VertexProfile)),
            queries=dict(_read_records(top, "queries", "query", QueryProfile)),
        )


def _read_records(top: Table, part: str, what: str, kind: type[Record]) -> Iterator[tuple[str, Record]]:
    for name, table in top.named_tables(part, what, _names(kind)):
        yield name, kind(**_read_values(table, kind))


def _read_values(table: Table, kind: type[Any]) -> dict[str, Any]:
    """Those that are given, and those that must be."""
    given: dict[str, Any] = {}
    for field in fields(kind):
        name = field.name
        if name in PARTS or (field.default is not MISSING and not table.has(name)):
            continue
        if field.type == "HostName":
            given[name] = table.choice(name, get_args(HostName))
        elif field.type == "str":
            given[name] = table.text(name)
        elif field.type == "int":
            given[name] = table.whole(name) if name in ABOVE_ZERO else table.whole(name, least=0, most=MOST)
        else:
            given[name] = table.number(name, zero=name not in ABOVE_ZERO, negative=name == "r2")
    return given


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]
