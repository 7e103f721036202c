"""What filters below a vertex see to: rules that insert filters ask here, so that none is inserted twice.

    Filter(x > 5) is not needed above     Project("_key0" AS x)      nor above      RowPattern(keys: x)
                                            Filter("_key0" > 7)                       Project(x AS _key0)
                                              input                                     Filter(x > 7)

Other rules move a filter down as far as it goes; it is looked for wherever they can take it.
"""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project, RowPattern
from cepheid.graph.query_graph import QueryGraph
from cepheid.scalars.implication import implies
from cepheid.scalars.value import Column, Scalar, columns_of, split_conjunction, substitute_columns


def is_ensured(graph: QueryGraph, vertex: str, condition: Scalar) -> bool:
    """Does every row of the vertex fulfil the condition already?"""
    return all(_is_part_ensured(graph, vertex, part) for part in split_conjunction(condition))


def _is_part_ensured(graph: QueryGraph, vertex: str, part: Scalar) -> bool:
    node = graph.vertices[vertex]
    if isinstance(node, Filter) and implies(node.predicate, part):
        return True
    below = part
    if not isinstance(node, Filter):
        passed = columns_passed_on(node)
        if not columns_of(part) or not columns_of(part) <= passed.keys():
            return False
        below = substitute_columns(part, passed)
    return _is_part_ensured(graph, graph.inputs(vertex)[0], below)


def columns_passed_on(node: object) -> dict[str, Column]:
    """Columns of a projection that its input has under another name; of a row pattern: those of its partitions."""
    match node:
        case Project(columns=columns):
            return {name: value for name, value in columns if isinstance(value, Column)}
        case RowPattern(cells=cells):
            return {
                cell.name: Column(cell.column)
                for cell in cells
                if cell.kind == "row" and cell.column is not None and cell.column.startswith("_key")
            }
    return {}
