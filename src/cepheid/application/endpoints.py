"""What an application asks of sources and sinks when it is read, before anything runs.

Files are opened by execution, which lies above; it hands these functions in (execution/endpoints.py), as hosts hand in
what describes their SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cepheid.cost.profile import HostName


@dataclass(frozen=True, slots=True)
class Endpoints:
    """All take a text of the file, the name of what it is for, the folder that relative paths start from, and the host.

    read_source_schema: of what would be read from there; without columns, if only Spark knows them.
    find_sink_target: the file or folder that would be written, None: neither.  Both raise InvalidInput for what they do
    not know or cannot read.
    """

    read_source_schema: Callable[[str, str, Path, HostName], pa.Schema]
    find_sink_target: Callable[[str, str, Path, HostName], Path | None]
