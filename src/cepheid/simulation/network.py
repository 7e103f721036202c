"""How messages travel between machines.

A link joins two places, each named by a machine, its datacentre or its cloud; of the links that fit, the one that
names most exactly holds, in either direction.  Without one, every message takes `network_delay_s`, as in CEPSim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.simulation.scenario import Link, Scenario, Vm


@dataclass(frozen=True, slots=True)
class Network:
    """link[a, b]: the number of the link between two machines, -1: none.  latency_s, ms_per_byte: by link; the last
    row (of -1) is the fixed delay.  Messages on a link with a bandwidth wait for each other."""

    link: npt.NDArray[np.int64]
    latency_ms: npt.NDArray[np.float64]
    ms_per_byte: npt.NDArray[np.float64]
    price_per_byte: npt.NDArray[np.float64]


def build_network(scenario: Scenario) -> Network:
    links = scenario.links
    table = _number_links(scenario) if links else np.zeros((0, 0), np.int64)
    return Network(
        table,
        np.array([*(link.latency_s * 1000.0 for link in links), scenario.network_delay_s * 1000.0]),
        np.array([*(8e-3 / link.bandwidth_mbps if link.bandwidth_mbps else 0.0 for link in links), 0.0]),
        np.array([*(link.price_per_gb / 1e9 for link in links), 0.0]),
    )


def _number_links(scenario: Scenario) -> npt.NDArray[np.int64]:
    kinds: dict[tuple[str, ...], int] = {}
    kind_of = [kinds.setdefault(_names_of(vm, scenario), len(kinds)) for vm in scenario.vms]
    nearest = np.array([[_nearest(scenario.links, a, b) for b in kinds] for a in kinds], np.int64)
    return nearest[np.ix_(kind_of, kind_of)]


def _names_of(vm: Vm, scenario: Scenario) -> tuple[str, ...]:
    """From the nearest to the widest; of itself only if a link names it, so that there are few kinds of machines."""
    clouds = [each.cloud for each in scenario.datacentres if each.name == vm.datacentre]
    is_named = any(vm.name in (link.source, link.target) for link in scenario.links)
    return tuple(name if is_named or name != vm.name else "" for name in (vm.name, vm.datacentre, *clouds))


def _nearest(links: tuple[Link, ...], near: tuple[str, ...], far: tuple[str, ...]) -> int:
    best, found = (99, 99), -1
    for number, link in enumerate(links):
        for one, other in ((near, far), (far, near)):
            if link.source in one and link.target in other:
                distance = one.index(link.source) + other.index(link.target)
                if (distance, number) < best:
                    best, found = (distance, number), number
    return found
