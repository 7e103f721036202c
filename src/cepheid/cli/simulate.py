"""cepheid simulate: a scenario on simulated machines; one run, a sweep, or a plan."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cepheid.cli.failures import report_failures
from cepheid.errors import InvalidInput, suggest_name
from cepheid.extras import require_extra

if TYPE_CHECKING:
    from cepheid.simulation.exploration.plan import CapacityPlan
    from cepheid.simulation.exploration.sweep import Sweep
    from cepheid.simulation.outcome import Outcome
    from cepheid.simulation.run import EngineName
    from cepheid.simulation.scenario import Scenario

    Result = Outcome | Sweep | CapacityPlan

ENGINES = ("compiled", "reference")
FIDELITIES = ("cepsim", "corrected")


def simulate(
    scenario: Annotated[
        list[str] | None, typer.Argument(metavar="SCENARIO.toml", help="What is simulated", show_default=False)
    ] = None,
    app: Annotated[Path | None, typer.Option(help="An application, in place of a scenario")] = None,
    rate: Annotated[float | None, typer.Option(help="Events per second into each query")] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FROM:TO:STEP or NAME=VALUE,VALUE; several are combined: rate=1000:30000:1000"),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option(metavar="GOAL=VALUE ... rate=R", help="The fewest engines for it: latency_p99=2s rate=200000"),
    ] = None,
    most_engines: Annotated[int, typer.Option(help="Of a plan: no more than these", min=1)] = 1024,
    report: Annotated[Path | None, typer.Option(help="A page to write, FILE.html")] = None,
    picture: Annotated[Path | None, typer.Option(help="A picture to draw, FILE.png")] = None,
    engine: Annotated[str, typer.Option(help="compiled or reference")] = "compiled",
    fidelity: Annotated[str | None, typer.Option(help="cepsim or corrected, in place of the scenario's")] = None,
    merge: Annotated[bool, typer.Option(help="Simulate machines that are equal in everything once")] = True,
    strategies: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE", help="A Python module that registers schedulers, allocations or arrivals of yours"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else on stdout")] = False,
) -> None:
    """Simulate queries on machines: latency, throughput, queues, cost."""
    with report_failures():
        path, goals = _part_words(scenario or [], plan)
        if sweep and goals:
            raise InvalidInput("a sweep and a plan at once", hint="take one of --sweep and --plan")
        if rate is not None and any(goal.startswith("rate=") for goal in goals):
            raise InvalidInput("the rate is given twice", hint="leave out --rate")
        _choose("engine", engine, ENGINES)
        if fidelity is not None:
            _choose("fidelity", fidelity, FIDELITIES)
        for target, ending in ((report, ".html"), (picture, ".png")):
            _prepare_target(target, ending)
        if picture is not None:
            require_extra("plots")  # now, not after the run
        for module in strategies or []:
            _load_strategies(module)
        read = _read(path, app, fidelity)
        if rate is not None:
            read = _set_rate(read, rate)
        result = _run(read, sweep or [], goals, most_engines, cast("EngineName", engine), merge)
        if as_json:
            typer.echo(json.dumps(result.as_json()))
        else:
            _show(result)
        _draw(result, report, picture)


def _part_words(words: list[str], plan: list[str] | None) -> tuple[Path | None, list[str]]:
    """The file, and the goals of a plan: `--plan latency_p99=2s rate=200000 q1.toml` takes both as they come."""
    goals, files = list(plan or []), []
    for word in words:
        if not re.match(r"\w+=", word) or Path(word).exists():
            files.append(word)
        elif plan:
            goals.append(word)
        else:
            raise InvalidInput(f'"{word}" belongs to a plan', hint=f"--plan latency_p99=2s {word}")
    if len(files) > 1:
        hint = "simulate them one by one; --sweep varies one scenario"
        raise InvalidInput(f'one scenario at a time, not "{files[0]}" and "{files[1]}"', hint=hint)
    return Path(files[0]) if files else None, goals


def _choose(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(f'{name} "{value}" does not exist', hint=suggest_name(value, known))


def _prepare_target(target: Path | None, ending: str) -> None:
    """Now, not after a long simulation."""
    if target is None:
        return
    if target.suffix.lower() != ending:
        raise InvalidInput(f'"{target}" does not end in {ending}', hint=f"name it for instance result{ending}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        hint = "choose a folder that you may write to"
        raise InvalidInput(f'"{target}" cannot be written: {problem}', hint=hint) from None


def _load_strategies(module: str) -> None:
    """From where modules are found, and from the folder one is in, as with `python -m`."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(module)
    except ImportError as problem:
        raise InvalidInput(
            f'module "{module}" cannot be imported: {problem}',
            hint="--strategies my_strategies for my_strategies.py in this folder",
        ) from None


def _read(path: Path | None, app: Path | None, fidelity: str | None) -> Scenario:
    if (path is None) == (app is None):
        raise InvalidInput(
            "there is nothing to simulate" if path is None else "a scenario and an application at once",
            hint="cepheid simulate SCENARIO.toml, or cepheid simulate --app APP.toml",
        )
    if path is not None:
        from cepheid.simulation.scenarios.scenario_file import read_scenario

        return read_scenario(path, fidelity)
    from cepheid.execution.embedded.relations import describe_sql
    from cepheid.execution.endpoints import ENDPOINTS
    from cepheid.simulation.scenarios.application_scenario import scenario_of_application
    from cepheid.simulation.scenarios.variations import vary

    assert app is not None, "one of the two is there"
    made = scenario_of_application(app, describe_sql, ENDPOINTS)
    return made if fidelity is None else vary(made, {"fidelity": fidelity})


def _set_rate(scenario: Scenario, rate: float) -> Scenario:
    from cepheid.simulation.scenarios.variations import VARIATIONS, vary

    return vary(scenario, {"rate": VARIATIONS["rate"].read("rate", str(rate))})


def _run(
    scenario: Scenario, sweep: list[str], goals: list[str], most_engines: int, engine: EngineName, merge: bool
) -> Result:
    if sweep:
        from cepheid.simulation.exploration.sweep import parse_axis, run_sweep

        axes = [parse_axis(text) for text in sweep]
        with _progress("sweeping") as progress:
            return run_sweep(scenario, axes, progress, engine, merge)
    if goals:
        from cepheid.simulation.exploration.plan import make_plan, parse_goals

        wanted, rate = parse_goals(goals)
        with _progress("planning") as progress:
            return make_plan(scenario, wanted, rate, most_engines, progress, engine, merge)
    from cepheid.simulation.simulate import simulate

    with _progress("simulating") as progress:
        return simulate(scenario, engine, progress, merge)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float], None] | None]:
    """A bar on stderr, if someone is there to see it."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(what, total=1.0)
        yield lambda share: bars.update(bar, completed=share)


def _show(result: Result) -> None:
    from rich.console import Console

    from cepheid.simulation.exploration.sweep import Sweep
    from cepheid.simulation.outcome import Outcome
    from cepheid.simulation.report.terminal import show_outcome, show_plan, show_sweep

    console = Console()
    if isinstance(result, Outcome):
        show_outcome(result, console)
    elif isinstance(result, Sweep):
        show_sweep(result, console)
    else:
        show_plan(result, console)


def _draw(result: Result, report: Path | None, picture: Path | None) -> None:
    if report is None and picture is None:
        return
    from cepheid.simulation.exploration.plan import CapacityPlan
    from cepheid.simulation.outcome import Outcome

    shown: Any = result.as_sweep() if isinstance(result, CapacityPlan) else result
    if report is not None:
        from cepheid.simulation.report.html import write_report

        write_report(shown, report)
    if picture is not None:
        from cepheid.simulation.report.pictures import draw_outcome, draw_sweep

        if isinstance(shown, Outcome):
            draw_outcome(shown, picture)
        else:
            draw_sweep(shown, picture)
    for written in (report, picture):
        if written is not None:
            typer.echo(f"written: {written}", err=True)
