"""Which physical server a machine runs on: the one with most free processors that has room for it.

A machine without a datacentre runs somewhere, on a server of its own.  Servers are never over-subscribed: a machine
that none has room for is not there, and what is placed on it does not run.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cepheid.errors import InvalidInput, suggest_name
from cepheid.simulation.scenario import Host, Scenario


@dataclass(slots=True)
class _Server:
    name: str
    host: Host
    free_pes: int
    free_ram_mb: float


def host_machines(scenario: Scenario, absent: Collection[str] = ()) -> dict[str, str | None]:
    """For each machine of a datacentre its server, None: there is none with room."""
    servers = {
        centre.name: [
            _Server(f"{host.name}-{number}" if host.count > 1 else host.name, host, host.pes, host.ram_mb)
            for host in centre.hosts
            for number in range(1, host.count + 1)
        ]
        for centre in scenario.datacentres
    }
    hosted: dict[str, str | None] = {}
    for vm in scenario.vms:
        if not vm.datacentre or vm.name in absent:
            continue
        if vm.datacentre not in servers:
            hint = suggest_name(vm.datacentre, servers)
            raise InvalidInput(f'machine "{vm.name}": datacentre "{vm.datacentre}" does not exist', hint=hint)
        fitting = [
            server
            for server in servers[vm.datacentre]
            if server.free_pes >= vm.pes and server.free_ram_mb >= vm.ram_mb and server.host.mips >= vm.mips
        ]
        chosen = max(fitting, key=lambda server: server.free_pes, default=None)
        hosted[vm.name] = chosen.name if chosen else None
        if chosen:
            chosen.free_pes -= vm.pes
            chosen.free_ram_mb -= vm.ram_mb
    return hosted


def find_unhosted(scenario: Scenario, absent: Collection[str] = ()) -> frozenset[str]:
    return frozenset(name for name, server in host_machines(scenario, absent).items() if server is None)
