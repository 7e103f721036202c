"""SEQ: events of several steps that follow one another, in one of four ways of skipping others.

Each input is one stream in the event layout (see row_pattern.py), its own columns named `stream.column`; the
edges come in the order of `streams`.  Its output has one column per cell.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import EngineNode, plan_node
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.predicate import Predicate
from cepheid.kernel.expression import Expression, list_columns, show_expression
from cepheid.kernel.pattern import Absent, AnyOrder, Choice, SequenceItem, SequenceProgram, Step


@plan_node
class Sequence(EngineNode):
    """`keys`: how many columns all events of a sequence must agree on; `predicates`: conditions in Python; `streams`:
    what users call the inputs; `written`: the items of a SEQ whose steps say how they follow one another."""

    implementation: ClassVar[str] = "sequence"

    program: SequenceProgram
    cells: tuple[OutputCell, ...]
    keys: int
    order: int = 1
    predicates: tuple[Predicate, ...] = ()
    streams: tuple[str, ...] = field(default=(), compare=False)
    written: str = field(default="", compare=False)

    def show_items(self) -> str:
        """The items as they are written."""
        return self.written or ", ".join(show_item(item, self.streams) for item in self.program.items)

    def classification(self) -> Classification:
        many = len({term.stream for term in self.program.terms}) > 1
        return Classification(
            type="merge" if many else "processing",
            merge_type="sorted" if many else "N/A",
            sharing="proc+source",
            required_merge="union" if self.keys else "N/A",
            required_split="attribute" if self.keys else "N/A",
            complexity="linear in events and in sequences found",
            selectivity="any: every combination with skip_till_any",
        )

    def guess_ipe(self) -> float:
        return 100.0

    def guess_selectivity(self) -> float:
        return 0.1

    def parameters(self) -> list[str]:
        program = self.program
        shown = [f"({self.show_items()})"]
        shown += [
            f"{term.variable}: {show_expression(term.condition)}"
            for term in program.terms
            if term.condition is not None
        ]
        shown += [show_expression(condition) for condition in program.joint]
        shown += [f"strategy={program.strategy}", f"keys={self.keys}"]
        if program.within is not None:
            shown.append(f"within={program.within / 1e6:g}s")
        if program.flow is not None:
            shown.append(f"{len(program.flow.places)} places")
            if program.flow.begins != "always":
                shown.append(f"begins {program.flow.begins}")
        if program.consume:
            shown.append("consume")
        if program.limit is not None:
            shown.append(f"partials<={program.limit} ({program.overflow})")
        if program.timeouts:
            shown.append("timeouts")
        shown += [predicate.show() for predicate in self.predicates]
        return [*shown, f"cells=[{', '.join(cell.show() for cell in self.cells)}]"]

    def condition_columns(self) -> list[str]:
        """The input columns that conditions read; what predicates answer is computed from others."""
        answers = {predicate.column for predicate in self.predicates}
        read = (column for condition in self.conditions() for column in list_columns(condition))
        return list(dict.fromkeys(column for column in read if column not in answers))

    def conditions(self) -> list[Expression]:
        """All conditions, of steps, of absences and joint ones."""
        return [*(term.condition for term in self.program.terms if term.condition is not None), *self.program.joint]

    def cell_names(self) -> list[str]:
        return [cell.name for cell in self.cells]

    def read_columns(self) -> list[str]:
        """The input columns that conditions, predicates and cells read, besides order and keys."""
        asked = [column for predicate in self.predicates for _, column in predicate.reads]
        carried = [column for cell in self.cells for column in cell.read_columns()]
        return list(dict.fromkeys([*self.condition_columns(), *asked, *carried]))


def show_item(item: SequenceItem, streams: tuple[str, ...]) -> str:
    """The item as SQL text."""
    match item:
        case Step(variable=variable, stream=stream, repeated=repeated):
            return f"{streams[stream]}+ {variable}[]" if repeated else f"{streams[stream]} {variable}"
        case Absent(variable=variable, stream=stream):
            return f"~{streams[stream]} {variable}"
        case Choice(options=steps):
            return f"({' | '.join(show_item(step, streams) for step in steps)})"
        case AnyOrder(steps=steps):
            return f"({' & '.join(show_item(step, streams) for step in steps)})"
    raise AssertionError(f"not an item of a sequence: {item!r}")
