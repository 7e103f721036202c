"""Put windows and patterns that read rows of others into the engines that make those rows.

How far the rows of the lower one have come is known only where it runs.  So each engine runs the whole chain, for the
keys that it has if these part the chain as a whole (chain_keys.py), else for all.  Over whole tables that does not
matter: each vertex has all its rows before the next begins.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.placement.chain_keys import find_chain_keys
from cepheid.placement.placed_graph import Place, PlacedGraph

WHY = "a chain runs where it is known how far the lower rows have come"


def place_chains(placed: PlacedGraph) -> PlacedGraph:
    engines = set(placed.at_engines())
    places = dict(placed.places)
    for vertex in placed.chained():
        found = find_chain_keys(placed.graph, vertex)
        why = WHY if found.columns else f"{WHY}, in one: {found.why}"
        for name in set(placed.graph.reach(vertex, placed.graph.inputs)) & engines:
            keys = tuple(f"_key{number}" for number in found.keys.get(name, ()))
            places[name] = Place("engines", keys, why)
    return replace(placed, places=places)
