"""The time of events, where a stream has several timestamps and its user says which one it is.

Python: event_time={"bids": "date_time"}; SQL: WATERMARK FOR date_time in CREATE TABLE; APP.toml: time = "date_time".
It is kept in the metadata of the column, and goes along where the column does.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.errors import InvalidInput, suggest_name
from cepheid.event_time import can_order, mark_event_time


def mark_event_times(schemas: Mapping[str, pa.Schema], event_time: Mapping[str, str] | None) -> dict[str, pa.Schema]:
    """The schemas, each with its time of events, where a user names it: {"bids": "date_time"}."""
    marked = dict(schemas)
    for stream, column in (event_time or {}).items():
        if stream not in marked:
            hint = f"there are {', '.join(marked)}"
            raise InvalidInput(f'event_time names "{stream}", which is no stream', hint=hint)
        name = next((name for name in marked[stream].names if name.lower() == str(column).lower()), None)
        if name is None:
            hint = suggest_name(str(column), marked[stream].names)
            raise InvalidInput(f'"{stream}" has no column "{column}", which event_time names', hint=hint)
        if not can_order(marked[stream].field(name).type):
            kind = marked[stream].field(name).type
            raise InvalidInput(f'"{stream}.{name}" is of type {kind} and no time', hint="name a timestamp or a number")
        marked[stream] = mark_event_time(marked[stream], name)
    return marked
