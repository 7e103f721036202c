"""Say what the cores of one machine share out, where that is not what engines would.

one engine: the window is of the whole stream    =>    one engine, its cores by _group0: ...
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.graph.node import EngineNode
from cepheid.placement.core_split import split_among_cores
from cepheid.placement.placed_graph import PlacedGraph


def place_cores(placed: PlacedGraph) -> PlacedGraph:
    places = dict(placed.places)
    for vertices in placed.engines():
        nodes = [node for name in vertices if isinstance(node := placed.graph.vertices[name], EngineNode)]
        split = split_among_cores(nodes)
        for name in vertices:
            place = places[name]
            if split.columns != place.parallel_by:
                why = place.why if split.columns or not place.parallel_by else split.why
                places[name] = replace(place, cores_by=split.columns, why=why)
    return replace(placed, places=places)
