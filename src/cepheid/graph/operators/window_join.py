"""Streams that are joined as their windows stand: each arriving event with the events of the other windows.

Each input is one stream in the event layout (row_pattern.py), its own columns named `alias.column`; the edges come in
the order of FROM. `_key0`, ... are what all sides must agree on; `_part0`, ... what a window counts by.  Its output
has one column per cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import EngineNode, plan_node
from cepheid.kernel.join import JoinInput, JoinProgram
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCell:
    """A `column` of the event of one input."""

    name: str
    column: str
    input: int


@plan_node
class WindowJoin(EngineNode):
    """condition: over cells, what is left of it besides the keys; parts: PARTITION BY columns of each input's
    window; parted_by_keys: these are the keys, so that each key counts its own events; streams: what users call the
    inputs."""

    implementation: ClassVar[str] = "window_join"

    program: JoinProgram
    cells: tuple[JoinCell, ...]
    keys: int
    parts: tuple[int, ...]
    condition: Scalar | None = None
    order: int = 1
    parted_by_keys: bool = False
    streams: tuple[str, ...] = field(default=(), compare=False)

    def classification(self) -> Classification:
        return Classification(
            type="merge",
            merge_type="custom",
            sharing="proc+source",
            complexity="constant per event and row, for equality; the windows without",
            selectivity="any",
        )

    def guess_ipe(self) -> float:
        return 100.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        sides = zip(self.streams, self.program.inputs, self.program.preserved, strict=True)
        shown = [f"{stream} {show_side(side)}{' preserved' if outer else ''}" for stream, side, outer in sides]
        shown.append(f"keys={self.keys}")
        if self.condition is not None:
            shown.append(show_scalar(self.condition))
        return [*shown, f"cells=[{', '.join(f'{cell.column} AS {cell.name}' for cell in self.cells)}]"]

    @property
    def split(self) -> int:
        """A window that counts events must see all of them, unless it counts those of a key."""
        counts = not self.parted_by_keys and any(
            window.kind == "count" and window.size is not None for window in self.program.inputs
        )
        return 0 if counts else self.keys

    def part_columns(self) -> list[str]:
        """What windows count by."""
        return [f"_part{number}" for number in range(max(self.parts))]

    def read_columns(self) -> list[str]:
        """The columns that cells read; `_time` is there anyway, and what windows count by may be missing at some
        inputs."""
        return list(dict.fromkeys([*(cell.column for cell in self.cells), *self.part_columns()]))

    def cell_names(self) -> list[str]:
        return [cell.name for cell in self.cells]


def show_side(side: JoinInput) -> str:
    """The window of an input as it is written."""
    if side.size is None:
        return "[RANGE UNBOUNDED]"
    return f"[ROWS {side.size}]" if side.kind == "count" else f"[RANGE {side.size / 1e6:g} s]"
