"""Put windows and patterns that read rows of others into one engine with them.

How far the rows of the lower one have come is known only where it runs.  Over whole tables that does not matter: each
vertex has all its rows before the next begins.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.placement.placed_graph import Place, PlacedGraph

TOGETHER = Place("engines", why="a chain runs in one engine, where it is known how far the lower rows have come")


def place_chains(placed: PlacedGraph) -> PlacedGraph:
    engines = set(placed.at_engines())
    linked = {name for vertex in placed.chained() for name in placed.graph.reach(vertex, placed.graph.inputs)} & engines
    return replace(placed, places={**placed.places, **dict.fromkeys(linked, TOGETHER)}) if linked else placed
