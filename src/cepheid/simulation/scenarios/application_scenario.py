"""APP.toml as a scenario: what `cepheid simulate --app` runs."""

from __future__ import annotations

from pathlib import Path

from cepheid.application import Application, Endpoints, compile_application, make_catalog, read_application
from cepheid.cost.profile_file import read_profile
from cepheid.errors import CepheidError, InvalidInput
from cepheid.language.expressions.host_types import Describe
from cepheid.simulation.arrivals import ArrivalProcess, make_arrivals
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.scenarios.graph_planner import plan_scenario
from cepheid.simulation.scenarios.graph_scenario import GraphSetting


def scenario_of_application(path: Path, describe: Describe, endpoints: Endpoints) -> Scenario:
    """describe: tells the types of SQL; the embedded host has one (execution/embedded/relations.py).  endpoints: know
    sources and sinks (execution/endpoints.py); of sinks only that they are known, for nothing is written."""
    application = read_application(path, endpoints)
    compilation = compile_application(application, describe)
    setting = GraphSetting(
        _make_rates(application),
        None if application.profile is None else read_profile(application.profile),
        application.cluster,
        application.simulation,
        keys={name: source.keys for name, source in application.sources.items() if source.keys is not None},
        selectivities={
            name: query.selectivity for name, query in application.queries.items() if query.selectivity is not None
        },
    )
    return plan_scenario(compilation.placed, compilation.host, make_catalog(application, describe), setting)


def _make_rates(application: Application) -> dict[str, ArrivalProcess]:
    rates = {}
    for name, source in application.sources.items():
        if not source.arrivals:
            continue  # a source that no query reads needs none; one that is read is told apart
        try:
            rates[name] = make_arrivals(source.arrivals, application.path.parent)
        except CepheidError as problem:
            raise InvalidInput(f'source "{name}" of {application.path}: {problem.message}', hint=problem.hint) from None
    return rates
